package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// ptyPair is a pseudo-terminal. Slave is for the other process; this one writes what is typed to master and reads what is shown.
type ptyPair struct{ master, Slave *os.File }

// openPTY makes a pseudo-terminal.
func openPTY() (*ptyPair, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	slave, err := ptyPeer(int(master.Fd()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pseudo-terminal: %w", err), master.Close())
	}
	return &ptyPair{master, os.NewFile(uintptr(slave), "pseudo-terminal")}, nil
}

// ptyPeer unlocks and opens the other end without a path, which may be that of another devpts.
func ptyPeer(master int) (int, error) {
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, err
	}
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, uintptr(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// Attach lets a person's terminal pass every key to the pair and show what the pair shows. detach ends that, after all was
// shown, and restores the terminal; the other process must have ended.
func (p *ptyPair) Attach(in, out *os.File) (detach func() error, err error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("set up the terminal: %w", err)
	}
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	p.resize(out) // before a program asks for the size
	go func() {
		for range resized {
			p.resize(out)
		}
	}()
	go func() { _, _ = io.Copy(p.master, in) }() // ends with this process, or with its next read
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_, _ = io.Copy(out, p.master) // EIO once the other end is closed
	}()
	return func() error {
		failed := p.Slave.Close()
		<-shown
		signal.Stop(resized)
		close(resized)
		return errors.Join(failed, term.Restore(int(in.Fd()), before), p.master.Close())
	}, nil
}

func (p *ptyPair) resize(out *os.File) {
	if size, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ); err == nil {
		_ = unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, size)
	}
}
