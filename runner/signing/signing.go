// Package signing has the statements of runs signed by a process of scidex-oci-net (docs/adr/0052): the program that runs analyses
// has neither the code for that nor, at any time, the private key in its memory.
package signing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/host/helper"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// Command is the hidden command of scidex-oci-net that signs. It reads a Request, as a line of JSON, then the bytes of the result
// and a line of JSON for each output; it writes a Reply as a line, then the statement.
const Command = "sign-statement"

// timeout ends a process that hangs. A signing command has less (signer.Command).
const timeout = 2 * time.Minute

// Key is the key of the host. Its zero value signs nothing.
type Key struct {
	File string `json:"file,omitempty"` // the private key
	// Command has the key instead of File, PublicKey is the file of its public key.
	Command   []string `json:"command,omitempty"`
	PublicKey string   `json:"public_key,omitempty"`
	// Program opens scidex-oci-net.
	Program func() (*os.File, error) `json:"-"`
}

// Given reports whether runs are to be signed.
func (k Key) Given() bool { return k.File != "" || len(k.Command) > 0 }

// Request is what is to be signed.
type Request struct {
	Key Key `json:"key"`
	// ResultBytes is the length of the result that follows; 0 asks only whether the key signs.
	ResultBytes int `json:"result_bytes"`
}

// Reply is the head of an answer.
type Reply struct {
	KeyID string `json:"key_id"`
}

// Check returns an error if nothing could be signed now.
func (k Key) Check(ctx context.Context) error {
	_, _, err := k.call(ctx, nil, nil)
	return err
}

// Sign makes and signs the statement of a result with all its outputs.
func (k Key) Sign(ctx context.Context, res []byte, outputs []result.Output) (file []byte, keyID string, err error) {
	return k.call(ctx, res, outputs)
}

func (k Key) call(ctx context.Context, res []byte, outputs []result.Output) (file []byte, keyID string, err error) {
	asked, err := encode(Request{Key: k, ResultBytes: len(res)}, res, outputs)
	if err != nil {
		return nil, "", err
	}
	answer, err := k.execute(ctx, asked)
	if err != nil {
		return nil, "", err
	}
	head, file, _ := bytes.Cut(answer, []byte("\n"))
	var reply Reply
	if err := json.Unmarshal(head, &reply); err != nil {
		return nil, "", fmt.Errorf("%s answered without a key: %w", Command, err)
	}
	return file, reply.KeyID, nil
}

func encode(head Request, res []byte, outputs []result.Output) ([]byte, error) {
	var asked bytes.Buffer
	lines := json.NewEncoder(&asked)
	if err := lines.Encode(head); err != nil {
		return nil, err
	}
	asked.Write(res)
	for _, o := range outputs {
		if err := lines.Encode(o); err != nil {
			return nil, err
		}
	}
	return asked.Bytes(), nil
}

// execute calls the program. The error is what it said.
func (k Key) execute(ctx context.Context, asked []byte) ([]byte, error) {
	program, err := k.Program()
	if err != nil {
		return nil, err
	}
	defer program.Close()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var answer bytes.Buffer
	said := helper.Stderr()
	cmd := exec.CommandContext(ctx, inode.ProcPath(program), Command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(asked), &answer, said
	err = helper.Failure(runBound(cmd), said)
	return answer.Bytes(), err
}

// runBound runs a command in a process group of its own, which Ctrl-C does not reach, that is killed with this process: the
// signal is sent when the thread that forked ends (PR_SET_PDEATHSIG(2const)).
func runBound(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	return cmd.Run()
}
