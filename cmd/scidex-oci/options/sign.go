package options

import "github.com/scidex-ai/scidex-oci/spec"

// Sign says with what key the statements of runs are signed. No manifest has it.
type Sign struct{ Key, Command, PublicKey Text }

// signFlags are the names of SignFlags.
var signFlags = []string{"sign-key", "sign-command", "sign-public-key"}

// SignFlags are the flags of Sign.
func (g *Global) SignFlags() []*Flag {
	return inGroup(spec.GroupOutputs,
		Given(&g.Sign.Key, signFlags[0], "sign a statement of each run with the private key in `FILE`, as \"key new\" makes it, and run nothing where that cannot be; see docs/statement.md"),
		Given(&g.Sign.Command, signFlags[1], "have `COMMAND` sign instead of --sign-key: it gets what is to be signed on standard input and prints the Ed25519 signature, 64 bytes or base64; split as a shell does, without one; it is also called before each run, to see that it can"),
		Given(&g.Sign.PublicKey, signFlags[2], "the public key in `FILE` is that of --sign-command"),
	)
}

// WithoutSign leaves the flags of Sign out, for commands whose runs are made by others.
func WithoutSign(flags []*Flag) []*Flag { return Without(flags, signFlags...) }
