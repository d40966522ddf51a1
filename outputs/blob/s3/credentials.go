package s3

import (
	"errors"
	"fmt"
	"os"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// credentialsOf searches in the same places as AWS' own tools, but uses a network service only if the environment names
// one. It sends the first request to that service with the first one to the bucket, and cancels it with that.
func credentialsOf() (*credentials.Credentials, error) {
	local := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}})
	got, err := local.GetWithContext(nil)
	if err == nil && got.AccessKeyID != "" && got.SecretAccessKey != "" {
		return local, nil
	}
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if os.Getenv(name) != "" {
			return credentials.New(&service{name: name}), nil
		}
	}
	return nil, errors.New("there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for one of ~/.aws/credentials")
}

// service gives credentials by the network; a variable names it.
type service struct {
	credentials.IAM
	name string
}

// RetrieveWithCredContext says which service failed: the bucket's server is not to blame.
func (s *service) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	got, err := s.IAM.RetrieveWithCredContext(cc)
	if err != nil {
		err = &serviceError{s.name, err}
	}
	return got, err
}

type serviceError struct {
	name string
	error
}

func (e *serviceError) Error() string {
	return fmt.Sprintf("the service that %s names gave no credentials: %v", e.name, plain(e.error))
}

func (e *serviceError) Unwrap() error { return e.error }
