package protocol

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// pair returns both ends of a connection.
func pair(t *testing.T) (a, b *Conn) {
	t.Helper()
	a, file, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	if b, err = NewConn(file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

func TestConnCarriesTheBulkOfAJob(t *testing.T) {
	a, b := pair(t)
	job := Job{Filter: []byte("program"), Job: sandbox.Job{ID: "x", Tree: rootfs.Tree{Files: []rootfs.File{
		{Path: "/one", Data: []byte(strings.Repeat("\xff", 1<<20))}, {Path: "/empty"}, {Path: "/two", Data: []byte("two")},
	}}}}
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(a.Send(Message{Type: MsgJob, Job: &job}), a.Send(Message{Type: "next"})) }()
	got, err := b.Receive()
	if err != nil || string(got.Job.Filter) != "program" {
		t.Fatalf("got %+v (%v)", got.Job, err)
	}
	for i, f := range got.Job.Tree.Files {
		if want := job.Tree.Files[i]; f.Path != want.Path || string(f.Data) != string(want.Data) {
			t.Errorf("%s has %d bytes, want %d", f.Path, len(f.Data), len(want.Data))
		}
	}
	if next, err := b.Receive(); err != nil || next.Type != "next" {
		t.Errorf("then came %q (%v)", next.Type, err)
	}
	if err := <-sent; err != nil || len(job.Tree.Files[0].Data) != 1<<20 {
		t.Errorf("the sender's job has changed (%v)", err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	for name, sizes := range map[string][]int{"too few": {1}, "too many": {1, 1, 1}, "too long": {1, 5}, "negative": {-1, 1}} {
		job := Job{Job: sandbox.Job{Tree: rootfs.Tree{Files: []rootfs.File{{Path: "/one"}}}}}
		if err := job.restore(sizes, []byte("1234")); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestConnCarriesMessagesAndDescriptors(t *testing.T) {
	a, b := pair(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	// Larger than a socket buffer, so that a frame comes in parts.
	big := outputs.Entry{Path: []byte(strings.Repeat("\xff", 1<<20))}
	sent := make(chan error, 1)
	go func() {
		sent <- errors.Join(
			a.Send(Message{Type: "one"}, write),
			a.Send(Message{Type: "two", Entries: []outputs.Entry{big}}),
			write.Close(),
			a.Close(),
		)
	}()
	one, err := b.Receive()
	if err != nil || one.Type != "one" || len(one.Files) != 1 {
		t.Fatalf("got %+v (%v)", one, err)
	}
	two, err := b.Receive()
	if err != nil || two.Type != "two" || len(two.Files) != 0 || string(two.Entries[0].Path) != string(big.Path) {
		t.Fatalf("got %s (%v)", two.Type, err)
	}
	if _, err := b.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("after the other side closed: %v, want EOF", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if _, err := one.Files[0].WriteString("x"); err != nil {
		t.Errorf("the received descriptor is not the pipe's: %v", err)
	}
	one.Files[0].Close()
	if got, err := io.ReadAll(read); err != nil || string(got) != "x" {
		t.Errorf("read %q (%v)", got, err)
	}
}

// TestConnCarriesManyDescriptors: more than one call takes, in their order, with another message before and after.
func TestConnCarriesManyDescriptors(t *testing.T) {
	a, b := pair(t)
	for _, n := range []int{maxPart, maxPart + 1, 2*maxPart + 1} {
		var files []*os.File
		for range n {
			f, err := os.CreateTemp(t.TempDir(), "")
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		if err := errors.Join(a.Send(Message{Type: "before"}), a.Send(Message{Type: "many"}, files...), a.Send(Message{Type: "after"}, files[0])); err != nil {
			t.Fatal(err)
		}
		if before, err := b.Receive(); err != nil || before.Type != "before" || len(before.Files) != 0 {
			t.Fatalf("%s with %d files, %v", before.Type, len(before.Files), err)
		}
		many, err := b.Receive()
		if err != nil || many.Type != "many" || len(many.Files) != n {
			t.Fatalf("%s with %d files, %v; want %d", many.Type, len(many.Files), err, n)
		}
		for i, f := range files {
			sent, err1 := f.Stat()
			got, err2 := many.Files[i].Stat()
			if err1 != nil || err2 != nil || !os.SameFile(sent, got) {
				t.Fatalf("file %d of %d is another", i, n)
			}
		}
		after, err := b.Receive()
		if err != nil || after.Type != "after" || len(after.Files) != 1 {
			t.Fatalf("%s with %d files, %v", after.Type, len(after.Files), err)
		}
		Discard(append(append(files, many.Files...), after.Files...))
	}
}

func TestConnRefusesTooManyDescriptors(t *testing.T) {
	a, _ := pair(t)
	if err := a.Send(Message{Type: "x"}, make([]*os.File, maxFiles+1)...); err == nil {
		t.Error("more descriptors than SCM_MAX_FD were sent")
	}
}
