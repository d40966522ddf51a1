package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"os/exec"
)

// feed is a batch whose lines a test writes one after the other.
type feed struct {
	h    *harness
	cmd  *exec.Cmd
	to   io.WriteCloser
	from *bufio.Reader
}

func (h *harness) feed(args ...string) *feed {
	h.t.Helper()
	f := &feed{h: h, cmd: h.command(theHost.bin, append([]string{"batch", "--jobs=1"}, append(args, "-")...)...)}
	var err error
	f.to, err = f.cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	from, err := f.cmd.StdoutPipe()
	if err == nil {
		err = f.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	f.from = bufio.NewReader(from)
	return f
}

func (f *feed) write(line manifest) {
	f.h.t.Helper()
	text, err := json.Marshal(maps.Clone(line).and("id", f.h.newID()))
	if err == nil {
		_, err = f.to.Write(append(text, '\n'))
	}
	if err != nil {
		f.h.t.Fatal(err)
	}
}

// run has a line run, and returns its result.
func (f *feed) run(line manifest) result {
	f.h.t.Helper()
	f.write(line)
	return f.read()
}

// read returns the next result.
func (f *feed) read() result {
	f.h.t.Helper()
	text, err := f.from.ReadString('\n')
	if err != nil {
		f.h.t.Fatal(err)
	}
	r, err := parseResult([]byte(text))
	if err != nil {
		f.h.t.Fatal(err)
	}
	return r
}

func (r result) kind() string {
	if r.Start == nil {
		return ""
	}
	return r.Start.Kind
}

// close ends the batch if the test has not: its lines have their results.
func (f *feed) close() {
	_ = f.to.Close()
	_ = f.cmd.Wait()
}
