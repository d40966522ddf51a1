package outputs

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// modesFile is where, in the ingest directory, a harvest records the mode of a file before it makes the file root's and
// read-only: a line "INODE MODE" each, the mode in octal. A harvest after a killed one, and the owner of a kept tree,
// restore from it what the analysis had set. A recorded file had one name.
const modesFile = "modes"

// modes are by inode: links are made within one file system.
type modes map[uint64]uint32

// readModes reads the records of an earlier harvest, if any.
func readModes(ingest *os.File) (modes, error) {
	fd, err := beneath.Open(int(ingest.Fd()), modesFile, unix.O_RDONLY|quiet)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the modes of files: %w", err)
	}
	f := os.NewFile(uintptr(fd), modesFile)
	defer f.Close()
	noted := modes{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var inode uint64
		var mode uint32
		if _, err := fmt.Sscanf(lines.Text(), "%d %o", &inode, &mode); err != nil {
			return nil, fmt.Errorf("read the modes of files: %q: %w", lines.Text(), err)
		}
		if _, known := noted[inode]; !known { // the first one is the analysis' own
			noted[inode] = mode
		}
	}
	return noted, lines.Err()
}

// original restores the recorded mode in st and reports whether there is one.
func (m modes) original(st *unix.Stat_t) bool {
	mode, noted := m[st.Ino]
	if noted && kind(st) == unix.S_IFREG {
		st.Mode = st.Mode&unix.S_IFMT | mode
		return true
	}
	return false
}

// note records the mode of a file before it is changed.
func (h *harvest) note(st *unix.Stat_t) error {
	if h.noted == nil {
		flags := unix.O_WRONLY | unix.O_APPEND | unix.O_CREAT | quiet
		fd, err := beneath.OpenFile(int(h.opts.Ingest.Fd()), modesFile, flags, 0o600)
		if err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
		h.noted = os.NewFile(uintptr(fd), modesFile)
	}
	line := strconv.AppendUint(nil, st.Ino, 10)
	line = strconv.AppendUint(append(line, ' '), uint64(st.Mode&0o7777), 8)
	if _, err := h.noted.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	return nil
}

func (h *harvest) closeNotes() {
	if h.noted != nil {
		h.noted.Close()
	}
}

// resume reads the records of a killed harvest and removes its names from the ingest directory, so that each file has
// only its name in the tree again, and perhaps that of a blob.
func (h *harvest) resume() (err error) {
	if h.before, err = readModes(h.opts.Ingest); err != nil {
		return err
	}
	w, err := newWalk(h.opts.Ingest)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	defer w.close()
	for again := true; again; { // removing invalidates the reading position
		again, err = removeNumbered(w)
		if err == nil && again {
			err = w.rewind()
		}
		if err != nil {
			return fmt.Errorf("ingest: remove what was left: %w", err)
		}
	}
	return nil
}

func removeNumbered(w *walk) (removed bool, err error) {
	for {
		name, ok, err := w.next()
		if !ok || err != nil {
			return removed, err
		}
		if strings.Trim(name, "0123456789") != "" {
			continue
		}
		if err := unix.Unlinkat(w.fd(), name, 0); err != nil {
			return removed, err
		}
		removed = true
	}
}
