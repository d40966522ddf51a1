package options

import "github.com/scidex-ai/scidex-oci/spec"

// Sign says with what key the statements of runs are signed. No manifest has it.
type Sign struct{ Key, Command, PublicKey Text }

// signFlags are the names of SignFlags.
var signFlags = []string{"sign-key", "sign-command", "sign-public-key"}

// SignFlags are the flags of Sign.
func (g *Global) SignFlags() []*Flag {
	return inGroup(spec.GroupOutputs,
		Given(&g.Sign.Key, signFlags[0], "sign a statement of each run with the private key in `FILE`, as made by \"key new\"; if it cannot sign, run nothing; see docs/statement.md"),
		Given(&g.Sign.Command, signFlags[1], "have `COMMAND` sign instead of --sign-key: it reads what is to be signed from standard input and prints the Ed25519 signature, 64 bytes or base64. It is split into words as a shell would, but no shell runs it. It is also called before each run, to check that it works"),
		Given(&g.Sign.PublicKey, signFlags[2], "the public key in `FILE` is that of --sign-command"),
	)
}

// WithoutSign leaves the flags of Sign out, for commands whose runs are made by others.
func WithoutSign(flags []*Flag) []*Flag { return Without(flags, signFlags...) }
