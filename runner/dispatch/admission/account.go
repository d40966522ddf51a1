package admission

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// Account counts what the analyses of all engines of an account on one host use. Each has locked as many bytes of one file as its
// memory limit has, and as many as its CPU limit has thousandths: so the kernel counts, and drops what a killed engine had.
// It is safe for concurrent use.
type Account struct {
	mu     sync.Mutex
	file   *os.File
	closed bool
	// Resources are what all have together: what was free when the first of the engines that live now started.
	Resources
}

// The parts of the file. Its content are the figures that the first engine has measured.
var (
	alive      = flock.Range{From: 0, To: 1} // read locks of all engines
	front      = flock.Range{From: 1, To: 2} // a write lock of the one whose analysis is the next
	processors = int64(1) << 20
	memory     = int64(1) << 40
	whole      = flock.Range{From: 0, To: math.MaxInt64}
)

const (
	// stalled is the age of the file's modification time after which the engine at the front is taken for suspended: it sets the time
	// at each try.
	stalled = 2 * time.Second
	// opens bounds the tries of OpenAccount. One more is needed only if an engine is killed while it writes the figures.
	opens     = 100
	milliCPUs = 1000
)

// OpenAccount opens the file of an account, which has the memory and CPUs of machine if no other engine has it open.
func OpenAccount(path string, machine Resources) (*Account, error) {
	f, err := openOwn(path)
	if err != nil {
		return nil, err
	}
	a := &Account{file: f}
	for range opens {
		if err = a.enroll(machine); !errors.Is(err, errFigures) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return a, nil
}

var errFigures = errors.New("it does not have the memory and CPUs of an account; remove it")

// enroll notes that this engine lives, and reads or writes the figures.
func (a *Account) enroll(machine Resources) error {
	err := flock.LockRange(a.file, unix.F_OFD_SETLK, unix.F_WRLCK, alive)
	if err == nil {
		a.Resources = machine
		_, err = a.file.WriteAt(a.figures(), 0)
		return errors.Join(err, flock.LockRange(a.file, unix.F_OFD_SETLK, unix.F_RDLCK, alive))
	}
	if !errors.Is(err, unix.EAGAIN) {
		return err
	}
	if err = flock.LockRange(a.file, unix.F_OFD_SETLKW, unix.F_RDLCK, alive); err != nil {
		return err
	}
	text := make([]byte, len(a.figures()))
	_, err = a.file.ReadAt(text, 0)
	if n, _ := fmt.Sscan(string(text), &a.Memory, &a.CPUs); err != nil || n != 2 {
		return errors.Join(errFigures, flock.LockRange(a.file, unix.F_OFD_SETLK, unix.F_UNLCK, alive))
	}
	return nil
}

// figures is the content of the file, always of one length.
func (a *Account) figures() []byte { return fmt.Appendf(nil, "%20d %12.3f\n", a.Memory, a.CPUs) }

// Close leaves the account. What was taken stays taken.
func (a *Account) Close() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	return errors.Join(flock.LockRange(a.file, unix.F_OFD_SETLK, unix.F_UNLCK, whole), a.file.Close())
}

// Take takes what an analysis may use, at most all that the account has, or reports false: then this engine is at the front until
// it has taken that, or Yield. The only run of an engine needs only memory, so that each engine goes on.
func (a *Account) Take(limits Resources, alone bool) (release func(), ok bool) {
	if a == nil {
		return func() {}, true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || !a.first() {
		return nil, false
	}
	release, ok = a.take(limits, alone)
	if ok {
		a.leave()
	} else {
		_ = unix.UtimesNanoAt(int(a.file.Fd()), "", nil, unix.AT_EMPTY_PATH) // now; see stalled
	}
	return release, ok
}

// first reports whether this engine may take something: a large analysis is not overtaken by those of other engines.
func (a *Account) first() bool {
	if flock.LockRange(a.file, unix.F_OFD_SETLK, unix.F_WRLCK, front) == nil {
		return true
	}
	info, err := a.file.Stat()
	return err == nil && time.Since(info.ModTime()) > stalled
}

// Yield lets other engines take something.
func (a *Account) Yield() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.leave()
	}
}

// leave leaves the front.
func (a *Account) leave() { _ = flock.LockRange(a.file, unix.F_OFD_SETLK, unix.F_UNLCK, front) }

// take takes what an analysis may use by an open file description of its own. An error, as where too many files are open, is
// a lack of room.
func (a *Account) take(limits Resources, alone bool) (release func(), ok bool) {
	f, err := os.OpenFile(inode.ProcPath(a.file), os.O_RDWR, 0)
	if err != nil {
		return nil, false
	}
	release = func() {
		_ = flock.LockRange(f, unix.F_OFD_SETLK, unix.F_UNLCK, whole) // a child that is just started may have a copy of f
		f.Close()
	}
	cpus := min(milli(limits.CPUs), milli(a.CPUs))
	bytes := min(limits.Memory, a.Memory)
	if got, err := take(f, flock.Range{From: memory, To: memory + a.Memory}, bytes); err != nil || got < bytes {
		release()
		return nil, false
	}
	if got, err := take(f, flock.Range{From: processors, To: processors + milli(a.CPUs)}, cpus); !alone && (err != nil || got < cpus) {
		release()
		return nil, false
	}
	return release, true
}

func milli(cpus float64) int64 { return int64(math.Round(cpus * milliCPUs)) }
