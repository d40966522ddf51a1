package stores

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/runner/signing"
)

// keyOf is the key that signs statements of runs. It opens nothing: only runs need it.
func keyOf(o options.Sign, env options.Lookup) (k signing.Key, err error) {
	switch {
	case o.Key.Given && o.Command.Given:
		return k, o.Command.Refuse("%s is given too; give one of them", o.Key.Label)
	case o.Command.Given && !o.PublicKey.Given:
		return k, o.Command.Refuse("its public key is not known; give it with --sign-public-key FILE")
	case o.PublicKey.Given && !o.Command.Given:
		return k, o.PublicKey.Refuse("it belongs to --sign-command, which is not given")
	}
	k.File, k.PublicKey = o.Key.Path(""), o.PublicKey.Path("")
	if o.Command.Given {
		k.Command, err = commandOf(o.Command, env)
	}
	return k, err
}

// commandOf splits a signing command. A name without a slash is looked up when it is called.
func commandOf(t options.Text, env options.Lookup) ([]string, error) {
	command, err := options.SplitCommand(t.Value, env)
	if err != nil {
		return nil, t.Refuse("%w", err)
	}
	if strings.Contains(command[0], "/") {
		command[0] = options.Absolute(t.Dir, command[0])
	}
	return command, nil
}
