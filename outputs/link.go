package outputs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// linkIn takes a file by a second name, which avoids a second write of its contents and leaves the tree whole if the harvest
// fails. It takes no file with extended attributes, including access control lists: they would be kept. It returns no name
// if the file must be copied.
func (h *harvest) linkIn(name string, src int, st *unix.Stat_t) (into string, read reading, err error) {
	if n, err := unix.Flistxattr(src, nil); n != 0 || err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return "", reading{}, nil
	}
	into, err = h.linkName(name)
	if into == "" || err != nil {
		return "", reading{}, err
	}
	read, err = h.adopted(into, src, st)
	if errors.Is(err, errOpen) {
		h.drop(into)
		return "", reading{}, touched(src, st)
	}
	if err != nil {
		h.drop(into) // the previous error counts
		return "", reading{}, err
	}
	return into, read, nil
}

// linkName gives a file of the current directory its name in the ingest directory.
func (h *harvest) linkName(name string) (into string, err error) {
	for {
		if err := h.ctx.Err(); err != nil {
			return "", err
		}
		h.names++
		into = fmt.Sprintf("%06d", h.names)
		err = unix.Linkat(h.walk.fd(), name, int(h.opts.Ingest.Fd()), into, 0)
		switch {
		case err == nil:
			return into, nil
		case errors.Is(err, unix.EEXIST): // of an interrupted harvest
			continue
		case errors.Is(err, unix.EXDEV):
			h.opts.Link = false // nor will the next succeed
		}
		return "", nil
	}
}

// errOpen says that a process may write to a file.
var errOpen = errors.New("the file is open for writing")

// unopened requests a lease, which the kernel grants only if no descriptor and no mapping allows writes to the file
// (fcntl(2), F_SETLEASE): one that escaped from the sandbox would change a blob that is no copy (CVE-2024-27297). A
// file system without leases gives the same error. Closing the file releases the lease.
func unopened(fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return errOpen
	}
	return nil
}

// touched updates st after a file was changed here and must now be copied after all.
func touched(src int, st *unix.Stat_t) error {
	var now unix.Stat_t
	if err := unix.Fstat(src, &now); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	st.Ctim = now.Ctim
	return nil
}

// adopted makes the file root's, so that no id of an analysis has any right to it, and reads it.
func (h *harvest) adopted(into string, src int, st *unix.Stat_t) (reading, error) {
	if err := h.note(st); err != nil {
		return reading{}, err
	}
	if err := unix.Fchown(src, 0, 0); err != nil {
		return reading{}, fmt.Errorf("ingest: own: %w", err)
	}
	if err := unix.Fchmod(src, 0o400); err != nil {
		return reading{}, fmt.Errorf("ingest: own: %w", err)
	}
	if err := unopened(src); err != nil {
		return reading{}, err
	}
	now, err := lstatAt(int(h.opts.Ingest.Fd()), into)
	if err != nil {
		return reading{}, fmt.Errorf("ingest: %w", err)
	}
	if identity(now) != identity(st) {
		return reading{}, errExchanged
	}
	if now.Nlink != 2 {
		return reading{}, fmt.Errorf("it has %d names and not the 2 that are known", now.Nlink)
	}
	if now.Size != st.Size || now.Mtim != st.Mtim {
		return reading{}, refuse(Changed, "was written while it was read")
	}
	return h.read(src, now)
}

// separate replaces a file that has names outside by a copy.
func (o *owning) separate(ctx context.Context, name string) error {
	dir := o.walk.fd()
	st, err := lstatAt(dir, name)
	if err != nil {
		return err
	}
	if kind(st) == unix.S_IFDIR {
		return o.walk.enter(name, st)
	}
	if kind(st) != unix.S_IFREG || !o.outside(st) {
		return nil
	}
	src, err := openSame(dir, name, st, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	temp := ".own-" + rand.Text()
	if err = o.copyTo(ctx, src, st, temp); err == nil {
		err = unix.Renameat(dir, temp, dir, name)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, temp, 0) // the previous error counts
	}
	return err
}

// copyTo copies an open file to a new one of the owner's in the current directory.
func (o *owning) copyTo(ctx context.Context, src int, st *unix.Stat_t, name string) error {
	fd, err := beneath.OpenFile(o.walk.fd(), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|quiet, 0o600)
	if err != nil {
		return err
	}
	dst := os.NewFile(uintptr(fd), name)
	defer dst.Close()
	if _, err := o.copier.copy(ctx, src, st, dst); err != nil {
		return err
	}
	if err := unix.Fchown(fd, o.owner.UID, o.owner.GID); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, o.mode(st)); err != nil {
		return err
	}
	return dst.Close()
}
