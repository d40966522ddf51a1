package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	dirMode        = 0o755
	fileMode       = 0o644
	executableMode = 0o755
)

func (l *layer) entry(h *tar.Header) error {
	name, err := l.bounds.clean(h.Name)
	if err != nil {
		return err
	}
	if name == "" {
		return l.top(h)
	}
	dir, base := cut(name)
	switch leftover, err := reserved(dir, base); {
	case err != nil:
		return err
	case leftover:
		l.skip(name)
		return nil
	case strings.HasPrefix(base, whiteout):
		return l.whiteout(dir, base)
	}
	delete(l.skipped, name)
	switch h.Typeflag {
	case tar.TypeReg, '\x00', tar.TypeCont, tar.TypeGNUSparse:
		return l.file(h, dir, base)
	case tar.TypeDir:
		return l.directory(h, dir, base)
	case tar.TypeSymlink:
		return l.symlink(h, dir, base)
	case tar.TypeLink:
		return l.hardLink(h, dir, base)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		l.skip(name)
		return l.vacate(dir, base)
	case tar.TypeXGlobalHeader:
		return nil
	}
	return fmt.Errorf("it is of the unknown type %q", h.Typeflag)
}

// top handles the entry of the root itself, always a directory.
func (l *layer) top(h *tar.Header) error {
	switch h.Typeflag {
	case tar.TypeDir:
		l.times[""] = timespec(h.ModTime)
		return nil
	case tar.TypeXGlobalHeader:
		return nil
	}
	return errors.New("it would replace the root")
}

func (l *layer) skip(name string) {
	l.names += int64(len(name))
	l.skipped[name] = struct{}{}
}

func (l *layer) file(h *tar.Header, dir, base string) error {
	if h.Size > l.bounds.FileBytes {
		return beyondBytes("in one file", l.bounds.FileBytes)
	}
	if l.totals.bytes += h.Size; l.totals.bytes > l.bounds.Bytes {
		return beyondBytes("of files", l.bounds.Bytes)
	}
	p, err := l.parentOf(dir, h.ModTime)
	if err != nil {
		return err
	}
	var fd int
	err = l.put(p, base, func() (err error) {
		const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
		fd, err = unix.Openat(p.fd, base, flags, 0o600)
		return err
	})
	if err != nil {
		return fmt.Errorf("create file: %w", err)
	}
	err = l.fill(fd, h)
	return errors.Join(err, unix.Close(fd))
}

// fill writes an open empty file, and records its digest.
func (l *layer) fill(fd int, h *tar.Header) error {
	l.sum.Reset()
	for {
		n, err := l.tar.Read(l.buf)
		l.sum.Write(l.buf[:n])
		if err := writeAll(fd, l.buf[:n]); err != nil {
			return fmt.Errorf("write file: %w", err)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("read layer: %w", err)
		}
	}
	mode := uint32(fileMode)
	if h.Mode&0o111 != 0 {
		mode = executableMode
	}
	if err := unix.Fchmod(fd, mode); err != nil {
		return fmt.Errorf("set the mode: %w", err)
	}
	if err := setTime(fd, timespec(h.ModTime)); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("look at what was written: %w", err)
	}
	l.sums.add(st.Ino, l.sum)
	return nil
}

func (l *layer) directory(h *tar.Header, dir, base string) error {
	p, err := l.parentOf(dir, h.ModTime)
	if err != nil {
		return err
	}
	if _, err := l.mkdir(p, base); err != nil {
		return err
	}
	l.times[join(p.real, base)] = timespec(h.ModTime)
	return nil
}

// mkdir makes a directory, replacing what is known to be no directory; made is false if there was one.
func (l *layer) mkdir(p directory, base string) (made bool, err error) {
	make := func() error { return unix.Mkdirat(p.fd, base, dirMode) }
	switch kind, err := p.kind(base); {
	case errors.Is(err, unix.ENOENT):
		if err := make(); err != nil { // EEXIST means that kind failed: nothing is replaced then
			return false, fmt.Errorf("make directory: %w", err)
		}
		l.note(p, base)
	case err != nil:
		return false, fmt.Errorf("look at it: %w", err)
	case kind == unix.S_IFDIR:
		l.note(p, base)
		return false, nil
	default:
		if err := l.put(p, base, make); err != nil {
			return false, fmt.Errorf("make directory: %w", err)
		}
	}
	// Undo the umask. A directory just made is no link to follow.
	if err := unix.Fchmodat(p.fd, base, dirMode, 0); err != nil {
		return true, fmt.Errorf("set the mode of a directory: %w", err)
	}
	return true, nil
}

func (l *layer) symlink(h *tar.Header, dir, base string) error {
	p, err := l.parentOf(dir, h.ModTime)
	if err != nil {
		return err
	}
	if h.Linkname == "" {
		return errors.New("it is a symbolic link to nothing")
	}
	err = l.put(p, base, func() error { return unix.Symlinkat(h.Linkname, p.fd, base) })
	if err != nil {
		return fmt.Errorf("make symbolic link: %w", err)
	}
	times := []unix.Timespec{timespec(h.ModTime), timespec(h.ModTime)}
	if err := unix.UtimesNanoAt(p.fd, base, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("set the time of a symbolic link: %w", err)
	}
	return nil
}

// hardLink adds a name to an entry of this or a lower layer. linkat(2) follows no last link, and the path before is
// resolved inside the root.
func (l *layer) hardLink(h *tar.Header, dir, base string) error {
	name, err := l.bounds.clean(h.Linkname)
	if err != nil {
		return fmt.Errorf("hard link to %q: %w", h.Linkname, err)
	}
	if _, skipped := l.skipped[name]; skipped {
		l.skip(join(dir, base))
		return l.vacate(dir, base)
	}
	targetDir, targetBase := cut(name)
	target, err := l.existing(targetDir)
	if err != nil {
		return fmt.Errorf("hard link to %q: %w", h.Linkname, err)
	}
	defer unix.Close(target.fd)
	p, err := l.parentOf(dir, h.ModTime)
	if err != nil {
		return err
	}
	if target.real == p.real && targetBase == base {
		return errors.New("it is a hard link to itself")
	}
	err = l.put(p, base, func() error { return unix.Linkat(target.fd, targetBase, p.fd, base, 0) })
	if err != nil {
		return fmt.Errorf("hard link to %q: %w", h.Linkname, err)
	}
	return nil
}

// put makes an entry, replacing one of its name.
func (l *layer) put(p directory, base string, make func() error) error {
	err := make()
	if errors.Is(err, unix.EEXIST) {
		if err := l.remove(p, base, nil); err != nil {
			return err
		}
		err = make()
	}
	if err == nil {
		l.note(p, base)
	}
	return err
}

// vacate removes what a skipped entry would have replaced.
func (l *layer) vacate(dir, base string) error {
	p, err := l.existing(dir)
	if isMissing(err) {
		return l.absent(dir)
	}
	if err != nil {
		return err
	}
	defer unix.Close(p.fd)
	return l.remove(p, base, nil)
}

// note records an entry of this layer. The lowest layer needs none.
func (l *layer) note(p directory, base string) {
	real := join(p.real, base)
	l.names += int64(len(real))
	if !l.empty {
		l.fresh[real] = struct{}{}
	}
}

func timespec(t time.Time) unix.Timespec {
	return unix.Timespec{Sec: t.Unix(), Nsec: int64(t.Nanosecond())}
}

func writeAll(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := unix.Write(fd, p)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}
