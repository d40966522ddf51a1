package signer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/statement"
)

// Bounds of a signing command: how long it may take, and what it may print, in bytes.
const (
	commandTimeout = 30 * time.Second
	printedMax     = 4 << 10
)

// Command is a program that has the private key: it gets the message on standard input and prints the signature, 64
// bytes or those in base64.
type Command struct {
	Words     []string // the first is a program, by its path or in PATH
	PublicKey string   // the file of the public key

	timeout time.Duration // a test's; 0: commandTimeout
}

// trialType is the type of the message that Open lets the command sign: it is no statement.
const trialType = "application/vnd.scidex-oci.trial"

// Open lets the command sign a few bytes, since only that shows whether it can.
func (c Command) Open(ctx context.Context) (statement.Signer, error) {
	public, err := PublicFile(c.PublicKey)
	if err != nil {
		return nil, err
	}
	s := commandSigner{c, public}
	trial := statement.PAE(trialType, nil)
	sig, err := s.Sign(ctx, trial)
	if err != nil {
		return nil, err
	}
	if !public.Verifies(trial, sig) {
		return nil, fmt.Errorf("the signing command %q does not sign by the public key %q; give the one that belongs to it", c.Words[0], c.PublicKey)
	}
	return s, nil
}

type commandSigner struct {
	command Command
	public  statement.PublicKey
}

// Public is the public key that belongs to the command's private key.
func (s commandSigner) Public() statement.PublicKey { return s.public }

// Sign calls the command. Its process group is killed if it takes too long, and the command itself also when the
// calling thread ends.
func (s commandSigner) Sign(ctx context.Context, message []byte) ([]byte, error) {
	timeout := cmp.Or(s.command.timeout, commandTimeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	words := s.command.Words
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the operator's own command
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	printed, said := bounded.Head(printedMax), bounded.Head(printedMax)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(message), printed, said
	runtime.LockOSThread()
	err := cmd.Run()
	runtime.UnlockOSThread()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("the signing command %q did not end within %v", words[0], timeout)
	case err != nil:
		if line := format.Line(said.String(), 200); line != "" {
			err = fmt.Errorf("%w: %s", err, line)
		}
		return nil, fmt.Errorf("the signing command %q: %w", words[0], err)
	}
	sig, err := signature(printed)
	if err != nil {
		return nil, fmt.Errorf("the signing command %q: %w", words[0], err)
	}
	return sig, nil
}

// signature is what was printed: 64 bytes, or those in base64.
func signature(by *bounded.Buffer) ([]byte, error) {
	printed := by.Bytes()
	if by.Cut() {
		return nil, fmt.Errorf("it printed more than %d bytes; a signature has %d", printedMax, ed25519.SignatureSize)
	}
	if len(printed) == ed25519.SignatureSize {
		return printed, nil
	}
	sig, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(printed)))
	if err != nil || len(sig) != ed25519.SignatureSize {
		return nil, errors.New("it printed no Ed25519 signature: 64 bytes, or those in base64")
	}
	return sig, nil
}
