// Package atomicfile replaces files in scidex-oci's own directories: a reader gets the old content or the new one, also
// after a kill. What survives a power cut is chosen by a Durability. For directories of users, use internal/userdir.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Durability is what survives a power cut.
type Durability int

const (
	// Volatile is for caches: nothing may survive, and the reader detects damage.
	Volatile Durability = iota
	// Content is for many files of one directory: a name never leads to a part of the content, but may be lost before SyncDir.
	Content
	// Durable is content and name: both are synced.
	Durable
)

// File is a file that is being written under a temporary name. Replace, Link or Discard ends it.
type File struct{ *os.File }

// Create makes the file temp with mode 0600, or truncates what a killed process left under this name, but never what a
// symbolic link leads to. Two callers must not use one temporary name at the same time.
func Create(temp string) (File, error) {
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	return File{f}, err
}

// Replace closes the file and renames it to path, over any file there. After an error the temporary file is removed.
func (f File) Replace(path string, d Durability) error { return f.name(path, d, os.Rename) }

// Link is Replace for a name that several processes may give, also on machines that share the file system: the first
// one gives it, and the others get fs.ErrExist. It needs no lock, only an atomic link(2), which NFS has.
func (f File) Link(path string, d Durability) error { return f.name(path, d, link) }

func (f File) name(path string, d Durability, give func(temp, path string) error) error {
	var err error
	if d != Volatile {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = give(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the previous error counts
		return err
	}
	if d == Durable {
		return SyncDir(filepath.Dir(path))
	}
	return nil
}

func link(temp, path string) error {
	err := os.Link(temp, path)
	if errors.Is(err, fs.ErrExist) && same(temp, path) {
		err = nil // over NFS a repeated call returns the second answer
	}
	if err == nil {
		_ = os.Remove(temp) // what counts is the other name
	}
	return err
}

func same(a, b string) bool {
	one, err := os.Lstat(a)
	other, failed := os.Lstat(b)
	return err == nil && failed == nil && os.SameFile(one, other)
}

// Discard removes the file.
func (f File) Discard() error { return errors.Join(f.Close(), os.Remove(f.Name())) }

// Write calls Create, write and Replace.
func Write(path, temp string, d Durability, write func(*os.File) error) error {
	return put(path, temp, d, write, File.Replace)
}

// WriteFirst calls Create, write and Link.
func WriteFirst(path, temp string, d Durability, write func(*os.File) error) error {
	return put(path, temp, d, write, File.Link)
}

func put(path, temp string, d Durability, write func(*os.File) error, place func(File, string, Durability) error) error {
	f, err := Create(temp)
	if err != nil {
		return err
	}
	if err := write(f.File); err != nil {
		return errors.Join(err, f.Discard())
	}
	return place(f, path, d)
}

// SyncDir makes the names in a directory durable (fsync(2)).
func SyncDir(path string) error {
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
