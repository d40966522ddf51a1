package commands

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/statement"
	"github.com/scidex-ai/scidex-oci/outputs/statement/signer"
	"github.com/scidex-ai/scidex-oci/runner/signing"
)

// newSign makes the command by which runs have their statements signed (signing.Key).
func newSign(p *command.Program) *cli.Command {
	c := command.SignEntry()
	c.Action = func(c *cli.Context) error { return sign(c.Context, bufio.NewReader(p.Stdin), p.Stdout) }
	return c
}

func sign(ctx context.Context, from *bufio.Reader, to io.Writer) error {
	var asked signing.Request
	line, err := from.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &asked)
	}
	if err != nil {
		return fmt.Errorf("read what is to be signed: %w", err)
	}
	key, err := sourceOf(asked.Key).Open(ctx)
	if err != nil {
		return err
	}
	var file []byte
	if asked.ResultBytes > 0 {
		if file, err = signResult(ctx, key, from, asked.ResultBytes); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(to).Encode(signing.Reply{KeyID: key.Public().ID()}); err != nil {
		return err
	}
	_, err = to.Write(file)
	return err
}

func sourceOf(k signing.Key) statement.Source {
	if len(k.Command) > 0 {
		return signer.Command{Words: k.Command, PublicKey: k.PublicKey}
	}
	return signer.File(k.File)
}

func signResult(ctx context.Context, key statement.Signer, from io.Reader, size int) ([]byte, error) {
	if size > statement.Max {
		return nil, fmt.Errorf("the result has %d bytes, more than the %d that are signed", size, statement.Max)
	}
	res := make([]byte, size)
	if _, err := io.ReadFull(from, res); err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	var all []statement.Output
	for lines := json.NewDecoder(from); ; {
		var o result.Output
		err := lines.Decode(&o)
		if errors.Is(err, io.EOF) {
			return statement.Sign(ctx, key, res, all)
		}
		if err != nil {
			return nil, fmt.Errorf("read the outputs: %w", err)
		}
		all = append(all, statement.Output{Path: o.Path, PathB64: o.PathB64, Size: o.Size, SHA256: o.SHA256, Mode: o.Mode})
	}
}
