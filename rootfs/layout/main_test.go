package layout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// childWork names what a process of the test binary does instead of testing.
const childWork = "LAYOUT_TEST_CHILD"

var works = map[string]func(dir string) error{
	"images": putImages,
	"same":   putSame,
	"full":   fillUp,
}

func TestMain(m *testing.M) {
	work, dir, child := strings.Cut(os.Getenv(childWork), " ")
	if !child {
		os.Exit(m.Run())
	}
	if err := works[work](dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is a process that does one of works with the layout in dir.
func child(t *testing.T, work, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childWork+"="+work+" "+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// putImages makes images from now on: it is to be killed.
func putImages(dir string) error {
	l, err := Open(dir)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for i := 0; ; i++ {
		if _, err := putImage(l, fmt.Sprintf("image-%d", i%3)); err != nil {
			return err
		}
		if i%5 == 4 {
			if err := errors.Join(l.Untag("image-0"), sweep(l)); err != nil && !errors.Is(err, ErrUnknown) {
				return err
			}
		}
	}
}

func sweep(l *Layout) error {
	_, err := l.Sweep(context.Background(), never, false)
	if errors.Is(err, ErrHeld) {
		return nil
	}
	return err
}

// putImage makes a fresh image of three random layers, as Pull would.
func putImage(l *Layout, name string) (ocispec.Descriptor, error) {
	ctx := context.Background()
	release, err := l.Hold(ctx)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	defer func() { _ = release() }()
	m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest}
	m.SchemaVersion = 2
	for range 3 {
		data := make([]byte, rand.IntN(1<<16))
		for i := range data {
			data[i] = byte(rand.Uint32())
		}
		m.Layers = append(m.Layers, describe(ocispec.MediaTypeImageLayer, data))
		if err := l.Put(ctx, m.Layers[len(m.Layers)-1], strings.NewReader(string(data))); err != nil {
			return ocispec.Descriptor{}, err
		}
	}
	m.Config = describe(ocispec.MediaTypeImageConfig, []byte("{}"))
	if err := l.Put(ctx, m.Config, strings.NewReader("{}")); err != nil {
		return m.Config, err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return m.Config, err
	}
	desc := describe(ocispec.MediaTypeImageManifest, data)
	if err := l.Put(ctx, desc, strings.NewReader(string(data))); err != nil {
		return desc, err
	}
	return desc, l.Tag(ctx, name, desc)
}

func describe(mediaType string, data []byte) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: algorithm.FromBytes(data), Size: int64(len(data))}
}

func open(t *testing.T, dir string) *Layout {
	t.Helper()
	l, err := Open(dir)
	must(t, err)
	return l
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, l *Layout, data string) ocispec.Descriptor {
	t.Helper()
	desc := describe(ocispec.MediaTypeImageLayer, []byte(data))
	must(t, l.Put(t.Context(), desc, strings.NewReader(data)))
	return desc
}
