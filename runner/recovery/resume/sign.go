package resume

import (
	"context"
	"errors"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
)

var errNoKey = errors.New("scidex-oci was killed before it was signed, and the command that recovered the run has no key (--sign-key)")

// sign adds the signed statement that the run was to have, where this command has the key.
func sign(ctx context.Context, p *pass.Pass, end commit.End, f commit.Final, into *cas.Ingest, now time.Time) (commit.Final, error) {
	if !p.Sign.Given() {
		return commit.Unsigned(end, f, errNoKey, now)
	}
	return commit.Sign(ctx, commit.Signing{Key: p.Sign, Into: into}, end, f, now)
}
