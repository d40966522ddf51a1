package layout

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/test/durable"
)

// never is before any partial file was written.
var never = time.Unix(0, 0)

func TestBlobIsVerifiedWhenRead(t *testing.T) {
	l := open(t, t.TempDir())
	desc := put(t, l, "contents")
	if got, err := read(l, desc); got != "contents" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	for _, damaged := range []string{"Contents", "content", "contents ", ""} {
		damage(t, l, desc, damaged)
		if got, err := read(l, desc); !errors.Is(err, cas.ErrCorrupt) {
			t.Errorf("%q was read as %q, %v", damaged, got, err)
		}
		must(t, l.Put(t.Context(), desc, strings.NewReader("contents"))) // repairs
		if got, err := read(l, desc); got != "contents" || err != nil {
			t.Errorf("not repaired: %q %v", got, err)
		}
	}
	if _, err := read(l, describe("", []byte("absent"))); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func read(l *Layout, desc ocispec.Descriptor) (string, error) {
	r, err := l.Blob(desc)
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), err
}

func blobPath(t *testing.T, l *Layout, desc ocispec.Descriptor) string {
	t.Helper()
	path, err := l.blobs.Path(desc.Digest.Encoded())
	must(t, err)
	return path
}

// leave writes a partial file, as a killed process leaves it.
func leave(t *testing.T, l *Layout, desc ocispec.Descriptor, data string) {
	t.Helper()
	dir := filepath.Join(l.blobs.Ingests(), desc.Digest.Encoded())
	must(t, os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, partialFile), []byte(data), 0o600))
}

func damage(t *testing.T, l *Layout, desc ocispec.Descriptor, data string) {
	t.Helper()
	path := blobPath(t, l, desc)
	must(t, os.Remove(path), os.WriteFile(path, []byte(data), 0o444))
}

func TestDescriptorsAreChecked(t *testing.T) {
	l := open(t, t.TempDir())
	good := describe("", []byte("x"))
	for _, c := range []struct {
		digest digest.Digest
		size   int64
		want   string
	}{
		{good.Digest, -1, "size"},
		{good.Digest, maxBlob + 1, "size"},
		{"sha512:" + digest.Digest(strings.Repeat("0", 128)), 1, "only sha256"},
		{"sha256:" + digest.Digest(strings.Repeat("A", 64)), 1, "digest"},
		{"sha256:../../x", 1, "digest"},
		{"", 1, "digest"},
	} {
		desc := ocispec.Descriptor{Digest: c.digest, Size: c.size}
		_, has := l.Has(desc)
		_, blob := l.Blob(desc)
		for _, err := range []error{has, blob, l.Put(t.Context(), desc, strings.NewReader("x"))} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s of %d bytes: %v", c.digest, c.size, err)
			}
		}
	}
}

func TestWriterResumes(t *testing.T) {
	l := open(t, t.TempDir())
	desc := describe("", []byte("first second"))
	w, err := l.Writer(t.Context(), desc)
	must(t, err)
	_, err = io.WriteString(w, "first ")
	must(t, err)
	if err := w.Commit(); !errors.Is(err, ErrIncomplete) {
		t.Error(err)
	}
	must(t, w.Close())
	w, err = l.Writer(t.Context(), desc)
	must(t, err)
	defer w.Close()
	if w.Offset() != 6 {
		t.Errorf("goes on at %d", w.Offset())
	}
	if _, err := io.WriteString(w, "second and more"); !errors.Is(err, ErrMismatch) {
		t.Errorf("longer: %v", err)
	}
	_, err = io.WriteString(w, "second")
	must(t, err, w.Commit())
	if got, err := read(l, desc); got != "first second" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

// A partial file may hold anything after a power cut.
func TestWrongContentsAreDropped(t *testing.T) {
	l := open(t, t.TempDir())
	desc := describe("", []byte("good"))
	leave(t, l, desc, "\x00\x00")
	w, err := l.Writer(t.Context(), desc)
	must(t, err)
	defer w.Close()
	_, err = io.WriteString(w, "od")
	must(t, err)
	if err := w.Commit(); !errors.Is(err, ErrMismatch) || w.Offset() != 0 {
		t.Errorf("%v, goes on at %d", err, w.Offset())
	}
	if has, err := l.Has(desc); has || err != nil {
		t.Errorf("%v %v", has, err)
	}
	_, err = io.WriteString(w, "good")
	must(t, err, w.Commit())
	must(t, w.Close())
	leave(t, l, desc, "much longer than it")
	damage(t, l, desc, "bad!")
	must(t, l.Put(t.Context(), desc, strings.NewReader("good")))
}

func TestSecondWriterWaitsAndFindsTheBlob(t *testing.T) {
	l := open(t, t.TempDir())
	desc := describe("", []byte("x"))
	first, err := l.Writer(t.Context(), desc)
	must(t, err)
	second := make(chan error)
	go func() {
		w, err := l.Writer(t.Context(), desc)
		if err == nil {
			w.Close()
		}
		second <- err
	}()
	canceled, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Writer(canceled, desc); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("did not wait: %v", err)
	}
	_, err = io.WriteString(first, "x")
	must(t, err, first.Commit(), first.Close())
	if err := <-second; !errors.Is(err, ErrExists) {
		t.Errorf("second: %v", err)
	}
	if left, err := os.ReadDir(l.blobs.Ingests()); len(left) != 0 || err != nil {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestNames(t *testing.T) {
	l := open(t, t.TempDir())
	one, err := putImage(l, "python:3.12")
	must(t, err)
	two, err := putImage(l, "registry.example:5000/team/r-base@sha256:"+strings.Repeat("0", 64))
	must(t, err)
	got, err := l.Resolve("python:3.12")
	must(t, err)
	if got.Digest != one.Digest {
		t.Errorf("%s, want %s", got.Digest, one.Digest)
	}
	two.Annotations = map[string]string{"org.scidex.reference": "x"}
	must(t, l.Tag(t.Context(), "python:3.12", two)) // moves
	if got, err = l.Resolve("python:3.12"); err != nil || got.Digest != two.Digest || got.Annotations["org.scidex.reference"] != "x" {
		t.Errorf("%v %v", got, err)
	}
	must(t, l.Untag("python:3.12"))
	if _, err := l.Resolve("python:3.12"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if err := l.Untag("python:3.12"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if names, err := l.Names(); len(names) != 1 || err != nil {
		t.Errorf("%v %v", names, err)
	}
	for _, name := range []string{"", "-x", "a b", "../x", "x\n", "/x", "x/", strings.Repeat("x", maxName+1)} {
		if err := l.Tag(t.Context(), name, two); err == nil {
			t.Errorf("%q became a name", name)
		}
	}
}

// Readers do not wait for those who set names, and never see half of a change.
func TestNoNameIsLost(t *testing.T) {
	dir := t.TempDir()
	desc, err := putImage(open(t, dir), "image-0")
	must(t, err)
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			l, err := Open(dir)
			if err == nil {
				err = l.Tag(t.Context(), fmt.Sprintf("image-%d", i), desc)
			}
			for range 30 {
				_, reading := l.Resolve("image-0")
				err = errors.Join(err, reading)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if names, err := open(t, dir).Names(); len(names) != 40 || err != nil {
		t.Errorf("%d names are left: %v", len(names), err)
	}
}

func TestOnlyAWholeImageGetsAName(t *testing.T) {
	l := open(t, t.TempDir())
	desc, err := putImage(l, "whole")
	must(t, err)
	children, err := l.children(desc)
	must(t, err)
	must(t, os.Remove(blobPath(t, l, children[1])))
	if err := l.Tag(t.Context(), "again", desc); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	layer := put(t, l, "layer")
	if err := l.Tag(t.Context(), "layer", layer); err == nil {
		t.Error("a layer got a name")
	}
}

func TestDamagedIndexIsRefused(t *testing.T) {
	l := open(t, t.TempDir())
	desc, err := putImage(l, "image")
	must(t, err)
	good, err := os.ReadFile(l.index())
	must(t, err)
	entry := fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d,"annotations":{%q:"image"}}`, desc.MediaType, desc.Digest, desc.Size, ocispec.AnnotationRefName)
	for name, data := range map[string]string{
		"empty": "", "torn": string(good[:len(good)/2]), "null": "null", "twice": string(good) + string(good), "array": "[]",
		"schema 1":     strings.Replace(string(good), `"schemaVersion":2`, `"schemaVersion":1`, 1),
		"other type":   strings.Replace(string(good), ocispec.MediaTypeImageIndex, "text/plain", 1),
		"two of one":   strings.Replace(string(good), `"manifests":[`, `"manifests":[`+entry+",", 1),
		"newer":        strings.Replace(string(good), `{`, `{"future":1,`, 1),
		"escaping":     strings.Replace(string(good), desc.Digest.String(), "sha256:../../etc/passwd", 1),
		"negative":     strings.Replace(string(good), fmt.Sprintf(`"size":%d`, desc.Size), `"size":-1`, 1),
		"name":         strings.Replace(string(good), `"image"`, `"../image"`, 1),
		"layer":        strings.Replace(string(good), ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageLayer, 1),
		"no manifests": `{"schemaVersion":2}`, "too large": strings.Repeat(" ", maxIndex) + string(good),
	} {
		must(t, os.WriteFile(l.index(), []byte(data), 0o600))
		_, resolve := l.Resolve("image")
		_, garbage := l.Sweep(t.Context(), time.Now(), false)
		for _, err := range []error{resolve, garbage, l.Tag(t.Context(), "other", desc), l.Untag("image")} {
			if err == nil || errors.Is(err, ErrUnknown) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if left, err := os.ReadFile(l.index()); string(left) != data {
			t.Errorf("%s: the index was rewritten: %v", name, err)
		}
	}
	must(t, os.WriteFile(l.index(), good, 0o600))
	if has, err := l.Has(desc); !has || err != nil {
		t.Errorf("a damaged index cost a blob: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/file", nil, 0o600), os.Mkdir(dir+"/open", 0o700), os.Chmod(dir+"/open", 0o777))
	newer := open(t, dir+"/newer")
	must(t, os.WriteFile(newer.Dir()+"/oci-layout", []byte(`{"imageLayoutVersion":"9.0.0"}`), 0o600))
	for _, name := range []string{"file", "open", "newer"} {
		if _, err := Open(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	info, err := os.Stat(newer.Dir())
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestSweep(t *testing.T) {
	l := open(t, t.TempDir())
	kept, err := putImage(l, "kept")
	must(t, err)
	_, err = putImage(l, "dropped")
	must(t, err, l.Untag("dropped"))
	stray := put(t, l, "stray")
	living, err := l.Writer(t.Context(), describe("", []byte("living")))
	must(t, err)
	defer living.Close()
	left, err := l.Writer(t.Context(), describe("", []byte("left")))
	must(t, err)
	_, err = io.WriteString(left, "le")
	must(t, err, left.Close())
	earlier := filepath.Join(l.blobs.Ingests(), "sha256-"+strings.Repeat("0", 64)) // of an earlier version
	young := filepath.Join(l.blobs.Ingests(), "sha256-"+strings.Repeat("1", 64))
	must(t, os.WriteFile(earlier, []byte("ear"), 0o600), os.WriteFile(young, nil, 0o600))

	release, err := l.Hold(t.Context())
	must(t, err)
	if _, err := l.Sweep(t.Context(), time.Now(), false); !errors.Is(err, ErrHeld) {
		t.Error(err)
	}
	must(t, release())
	for _, path := range []string{living.file.Name(), left.file.Name(), earlier} {
		must(t, os.Chtimes(path, never, never))
	}
	plan, err := l.Sweep(t.Context(), never.Add(time.Second), true)
	must(t, err)
	removed, err := l.Sweep(t.Context(), never.Add(time.Second), false)
	must(t, err)
	// The manifest and three layers of what was dropped (its config is the other's too), the stray blob, two partials.
	if !slices.Equal(plan, removed) || len(removed) != 7 {
		t.Errorf("%d removed: %v", len(removed), removed)
	}
	for _, want := range []Removable{{filepath.Dir(left.file.Name()), 2}, {earlier, 3}} {
		if !slices.Contains(removed, want) {
			t.Errorf("%v is not among %v", want, removed)
		}
	}
	for path, want := range map[string]bool{
		living.file.Name(): true, left.file.Name(): false, earlier: false, young: true, blobPath(t, l, stray): false,
	} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	must(t, l.Tag(t.Context(), "kept", kept))
}

// TestSweepKeepsManifestThatIsALayer: an image whose manifest is a layer of another one is kept with everything that it
// refers to, whichever of the two is visited first.
func TestSweepKeepsManifestThatIsALayer(t *testing.T) {
	l := open(t, t.TempDir())
	image, err := putImage(l, "a")
	must(t, err)
	config := describe(ocispec.MediaTypeImageConfig, []byte("{}"))
	layer := image
	layer.MediaType, layer.Annotations = ocispec.MediaTypeImageLayer, nil
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest, Config: config, Layers: []ocispec.Descriptor{layer}}
	m.SchemaVersion = 2
	data, err := json.Marshal(m)
	must(t, err)
	around := describe(ocispec.MediaTypeImageManifest, data)
	must(t, l.Put(t.Context(), around, strings.NewReader(string(data))))
	for _, last := range []func() error{
		func() error { return l.Tag(t.Context(), "around", around) }, func() error { return l.Tag(t.Context(), "a", image) },
	} {
		must(t, last())
		if removed, err := l.Sweep(t.Context(), never, false); err != nil || len(removed) > 0 {
			t.Fatalf("removed %v, %v", removed, err)
		}
	}
}

func TestSweepRemovesNothingIfAManifestIsDamaged(t *testing.T) {
	l := open(t, t.TempDir())
	desc, err := putImage(l, "image")
	must(t, err)
	damage(t, l, desc, strings.Repeat("x", int(desc.Size)))
	stray := put(t, l, "stray")
	if removed, err := l.Sweep(t.Context(), time.Now(), false); !errors.Is(err, cas.ErrCorrupt) || removed != nil {
		t.Errorf("%v %v", removed, err)
	}
	if has, err := l.Has(stray); !has || err != nil {
		t.Errorf("%v %v", has, err)
	}
}

// TestKillLeavesAWholeLayout kills processes that make, name and sweep images, several at once.
func TestKillLeavesAWholeLayout(t *testing.T) {
	dir := t.TempDir()
	for round := range 12 {
		var cmds []*exec.Cmd
		for range 3 {
			cmd := child(t, "images", dir)
			out, err := cmd.StdoutPipe()
			must(t, err, cmd.Start())
			_, err = bufio.NewReader(out).ReadString('\n')
			must(t, err)
			cmds = append(cmds, cmd)
		}
		time.Sleep(time.Duration(20+7*round) * time.Millisecond) // somewhere in the middle; any moment will do
		for _, cmd := range cmds {
			must(t, cmd.Process.Kill())
		}
		for _, cmd := range cmds {
			if err := cmd.Wait(); cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("round %d: a process ended by itself: %v", round, err)
			}
		}
		expectWhole(t, open(t, dir))
	}
}

// expectWhole reads every blob, whether an image needs it or not, and every image.
func expectWhole(t *testing.T, l *Layout) {
	t.Helper()
	images, err := l.Images()
	must(t, err)
	must(t, l.walk(images, func(d ocispec.Descriptor) error {
		_, err := read(l, d)
		return err
	}))
	must(t, l.blobs.Walk(nil, func(f cas.Found) bool {
		_, err := read(l, ocispec.Descriptor{Digest: digest.NewDigestFromEncoded(algorithm, f.SHA256), Size: f.Size})
		must(t, err)
		return true
	}))
	must(t, sweep(l))
}

const sameSize = 8 << 20

// putSame puts one large blob and says whether it was the one who wrote it.
func putSame(dir string) error {
	l, err := Open(dir)
	if err != nil {
		return err
	}
	data := strings.Repeat("same", sameSize/4)
	w, err := l.Writer(context.Background(), describe("", []byte(data)))
	if errors.Is(err, ErrExists) {
		return nil
	}
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := io.WriteString(w, data[w.Offset():]); err != nil {
		return err
	}
	fmt.Print("w")
	return w.Commit()
}

func TestProcessesShareTheWork(t *testing.T) {
	dir := t.TempDir()
	outs := make([]strings.Builder, 6)
	var cmds []*exec.Cmd
	for i := range outs {
		cmd := child(t, "same", dir) // the layout itself is made by all of them at once
		cmd.Stdout = &outs[i]
		must(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	written := ""
	for i, cmd := range cmds {
		must(t, cmd.Wait())
		written += outs[i].String()
	}
	if written != "w" {
		t.Errorf("%d processes wrote the blob", len(written))
	}
	expectWhole(t, open(t, dir))
}

// fillUp runs in namespaces of its own, on a file system of 1 MiB.
func fillUp(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		return err
	}
	l, err := Open(dir)
	if err != nil {
		return err
	}
	if _, err := putImage(l, "image"); err != nil {
		return err
	}
	data := strings.Repeat("x", 4<<20)
	_, err = l.Writer(context.Background(), describe("", []byte(data)))
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "free") {
		return fmt.Errorf("4 MiB on 1 MiB were not refused early: %w", err)
	}
	half := strings.Repeat("y", 600<<10)
	w, err := l.Writer(context.Background(), describe("", []byte(half)))
	if err != nil {
		return err
	}
	defer w.Close()
	if err := os.WriteFile(dir+"/other", make([]byte, 700<<10), 0o600); err != nil && !errors.Is(err, unix.ENOSPC) {
		return err
	}
	if _, err := io.WriteString(w, half); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("written onto a full disk: %w", err)
	}
	if err := w.Commit(); !errors.Is(err, ErrIncomplete) {
		return err
	}
	desc, err := l.Resolve("image")
	if err != nil {
		return err
	}
	for err == nil { // until not even a name fits
		err = os.WriteFile(fmt.Sprintf("%s/more-%d", dir, time.Now().UnixNano()), []byte("x"), 0o600)
	}
	if err := l.Tag(context.Background(), strings.Repeat("x", 500), desc); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("named on a full disk: %w", err)
	}
	if names, err := l.Names(); err != nil || len(names) != 1 {
		return fmt.Errorf("a full disk cost the names: %v %w", names, err)
	}
	if err := os.Remove(dir + "/other"); err != nil {
		return err
	}
	if _, err := io.WriteString(w, half[w.Offset():]); err != nil {
		return err
	}
	return w.Commit()
}

func TestFullDisk(t *testing.T) {
	cmd := child(t, "full", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	must(t, cmd.Run())
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte(emptyIndex))
	f.Add([]byte(`{"schemaVersion":2,"manifests":[{"mediaType":"` + ocispec.MediaTypeImageManifest + `","digest":"sha256:` +
		strings.Repeat("0", 64) + `","size":2,"annotations":{"org.opencontainers.image.ref.name":"x"}}]}`))
	f.Add([]byte(`{"schemaVersion":2,"config":{},"layers":[],"manifests":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if index, err := parseIndex(data); err == nil {
			for _, image := range index.Manifests {
				if err := Check(image); err != nil {
					t.Error(err)
				}
			}
		}
		for _, mediaType := range []string{ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest} {
			index, notIndex := ParseIndex(mediaType, data)
			manifest, notManifest := ParseManifest(mediaType, data)
			if notIndex == nil && notManifest == nil {
				t.Errorf("both an index and a manifest: %q", data)
			}
			for _, d := range slices.Concat(index.Manifests, manifest.Layers) {
				if err := Check(d); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func TestImagesAreDurable(t *testing.T) {
	l := open(t, t.TempDir())
	durable.Check(t, func() error {
		_, err := putImage(l, "name")
		return err
	})
}
