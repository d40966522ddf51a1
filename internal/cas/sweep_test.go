package cas

import (
	"errors"
	"io/fs"
	"testing"
)

// unread is a directory entry whose inode must not be read.
type unread struct {
	fs.DirEntry
	name string
}

var errRead = errors.New("the inode was read")

func (u unread) Name() string               { return u.name }
func (u unread) Info() (fs.FileInfo, error) { return nil, errRead }

// gc spares nearly all blobs, and reads only the inodes of the others.
func TestWalkReadsNoInodeOfSparedBlobs(t *testing.T) {
	never := func(Found) bool {
		t.Error("yielded")
		return true
	}
	entry := unread{name: digest("a")}
	spare := func(sha256 string) bool { return sha256 == digest("a") }
	if more, err := look(entry, spare, never); !more || err != nil {
		t.Errorf("spared: %v, %v", more, err)
	}
	if _, err := look(entry, nil, never); !errors.Is(err, errRead) {
		t.Errorf("not spared: %v", err)
	}
}
