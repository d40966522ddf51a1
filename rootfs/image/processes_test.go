package image

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/rootfs/unpack"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack/decoders"
)

// childWork names what a process of the test binary does instead of testing, with its arguments.
const childWork = "IMAGE_TEST_CHILD"

var works = map[string]func(args []string) error{
	"import": importOnce,
	"block":  importAndBlock,
	"churn":  churn,
	"full":   fillUp,
}

func TestMain(m *testing.M) {
	unpack.Register(decoders.Decode)
	words := strings.Fields(os.Getenv(childWork))
	if len(words) == 0 {
		os.Exit(m.Run())
	}
	if err := works[words[0]](words[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is a process that does one of works.
func child(work ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childWork+"="+strings.Join(work, " "))
	cmd.Stderr = os.Stderr
	return cmd
}

// importOnce imports a path as "x" into a store.
func importOnce(args []string) error {
	s, err := Open(args[0])
	if err != nil {
		return err
	}
	got, err := s.Import(context.Background(), args[1], Options{Name: "x"})
	fmt.Println(got.RootDigest)
	return err
}

// importAndBlock stops in the middle of a phase, to be killed there.
func importAndBlock(args []string) error {
	s, err := Open(args[0])
	if err != nil {
		return err
	}
	_, err = s.Import(context.Background(), args[1], Options{Name: "x", Progress: func(p Progress) {
		if p.Phase == args[2] {
			fmt.Println("here")
			time.Sleep(time.Hour) // select {} is a deadlock to the runtime, which ends the process
		}
	}})
	return errors.Join(err, errors.New("the import ended"))
}

// churn imports, damages, repairs and removes images from now on, to be killed.
func churn(args []string) error {
	ctx := context.Background()
	s, err := Open(args[0])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for i := 0; ; i++ {
		name := fmt.Sprintf("image-%d", i%2)
		if _, err := s.Import(ctx, args[1+i%2], Options{Name: name}); err != nil {
			return err
		}
		r, err := s.Root(ctx, name)
		if err != nil {
			return err
		}
		if err := errors.Join(r.Check(ctx), r.Repair(ctx), r.Check(ctx), r.Close()); err != nil {
			return err
		}
		if i%3 == 2 {
			if _, err := s.Remove(ctx, name); err != nil {
				return err
			}
		}
	}
}

// bulky is an image that takes a while.
func bulky(t *testing.T, seed string) string {
	layers := []tree{{}, {}}
	for i := range 400 {
		layers[i%2][fmt.Sprintf("dir-%d/file-%d", i%20, i)] = strings.Repeat(seed+fmt.Sprint(i), 500)
	}
	return write(t, oci(t, map[string]*made{"": imageOf(t, layers...)}))
}

// checkLeftovers checks what a kill has left: every name leads to a whole image, and a Sweep leaves nothing else.
func checkLeftovers(t *testing.T, s *Store, want int) {
	t.Helper()
	all, err := s.List()
	must(t, err)
	digests := map[string]bool{}
	for _, one := range all {
		r, err := s.Root(t.Context(), one.Name)
		must(t, err)
		must(t, errors.Join(r.Check(t.Context()), r.Close()))
		digests[one.RootDigest.String()] = true
	}
	if _, err := s.Sweep(t.Context(), false); err != nil {
		t.Error(err)
	}
	if left := roots(t, s); len(left) != len(digests) || want >= 0 && len(left) != want {
		t.Errorf("images %v, roots %q", all, left)
	}
}

// TestKilledInEachPhase kills an import in each of its phases. The next image command removes the rest.
func TestKilledInEachPhase(t *testing.T) {
	flat := file(t, tarOf(t, tree{"usr/": "", "usr/file": strings.Repeat("x", 1<<20)}))
	for _, phase := range []string{Reading, Copying, Unpacking} {
		s := newStore(t)
		cmd := child("block", s.layout.Dir(), flat, phase)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "here\n" {
			t.Errorf("%s: %q, %v", phase, line, err)
		}
		// It is alive: nobody may remove its directories, and it has not given the name yet.
		swept, err := s.Sweep(t.Context(), false)
		if err != nil || len(swept.Removed) != 0 {
			t.Errorf("%s: swept %+v, %v", phase, swept, err)
		}
		if made := len(roots(t, s)); (phase == Unpacking) != (made == 1) {
			t.Errorf("%s: %d roots", phase, made)
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if err := s.Known("x"); err == nil {
			t.Errorf("%s: it has a name", phase)
		}
		imported(t, s, "other", imageOf(t, tree{"other": "x"}))
		if left := roots(t, s); len(left) != 1 {
			t.Errorf("%s: after another import, roots %q", phase, left)
		}
		got, err := s.Import(t.Context(), flat, Options{Name: "x"})
		if err != nil || got.RootFiles != 3 {
			t.Errorf("%s: imported %+v, %v", phase, got, err)
		}
		checkLeftovers(t, s, 2)
	}
}

// TestKilled kills processes that import, repair and remove, at any moment.
func TestKilled(t *testing.T) {
	s := newStore(t)
	first, second := bulky(t, "first"), bulky(t, "second")
	for range 12 {
		cmd := child("churn", s.layout.Dir(), first, second)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(600)) * time.Millisecond) // whenever it is, what is left must be whole
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		checkLeftovers(t, s, -1)
	}
}

// TestTogether imports one image by ten processes at once: all have it, and it was unpacked once for all.
func TestTogether(t *testing.T) {
	s := newStore(t)
	path := bulky(t, "together")
	var cmds []*exec.Cmd
	for range 10 {
		cmd := child("import", s.layout.Dir(), path)
		cmd.Stdout = &strings.Builder{}
		must(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	digests := map[string]bool{}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		digests[cmd.Stdout.(*strings.Builder).String()] = true
	}
	if len(digests) != 1 {
		t.Errorf("root digests %v", digests)
	}
	checkLeftovers(t, s, 1)
}

// fillUp imports on a file system that is too small, which a user namespace lets anybody mount.
func fillUp(args []string) error {
	dir := args[0]
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=6m"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	s, err := Open(filepath.Join(dir, "images"))
	if err != nil {
		return err
	}
	ctx := context.Background()
	for i, path := range args[1:3] { // the blobs do not fit, the root does not
		_, err = s.Import(ctx, path, Options{Name: "x"})
		if !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("too large %d: %w", i, err)
		}
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			return err
		}
		if left := (st.Blocks - st.Bfree) * uint64(st.Bsize); left > 64<<10 {
			return fmt.Errorf("too large %d: %d bytes are left of it", i, left)
		}
	}
	_, err = s.Import(ctx, args[3], Options{Name: "x"})
	return err
}

func TestFullDisk(t *testing.T) {
	noise := func(n int) string { // that no compression makes smaller
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(rand.Uint32())
		}
		return string(data)
	}
	huge := file(t, tarOf(t, tree{"usr/": "", "usr/file": noise(8 << 20)}))
	large := file(t, gzipOf(t, tarOf(t, tree{"usr/": "", "usr/file": strings.Repeat("x", 16<<20)})))
	small := file(t, tarOf(t, tree{"usr/": "", "usr/file": "x"}))
	cmd := child("full", t.TempDir(), huge, large, small)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	must(t, cmd.Run())
}
