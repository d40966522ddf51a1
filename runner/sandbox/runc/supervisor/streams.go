package supervisor

import (
	"errors"
	"fmt"
	"os"
)

// streams are the standard streams of one container: the standard input, or /dev/null, and two pipes.
type streams struct {
	stdin          *os.File
	stdout, stderr [2]*os.File // read end, write end
}

// newStreams takes the standard input, nil where it is empty, and gives the other pipes to the analysis, which otherwise may not reopen /dev/stderr.
func newStreams(owner int, stdin *os.File) (_ *streams, err error) {
	s := &streams{stdin: stdin}
	if stdin == nil {
		if s.stdin, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
			return nil, err
		}
	}
	for _, pipe := range []*[2]*os.File{&s.stdout, &s.stderr} {
		if pipe[0], pipe[1], err = os.Pipe(); err != nil {
			return nil, errors.Join(err, closeAll(s.child()), closeAll(s.parent()))
		}
		if err := pipe[1].Chown(owner, owner); err != nil {
			return nil, errors.Join(fmt.Errorf("own a pipe: %w", err), closeAll(s.child()), closeAll(s.parent()))
		}
	}
	return s, nil
}

// child lists the container's ends.
func (s *streams) child() []*os.File { return []*os.File{s.stdin, s.stdout[1], s.stderr[1]} }

// parent lists the launcher's ends.
func (s *streams) parent() []*os.File { return []*os.File{s.stdout[0], s.stderr[0]} }

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
