package canary

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Marks are what a canary leaves where another run might find it.
type Marks struct {
	// Name of files in /tmp and /dev/shm and of an abstract socket. It is the id of the run, which is also an argument
	// of its process.
	Name string `json:"name"`
	// Key of a shared memory segment of System V (shmget(2)).
	Key int `json:"key"`
	// Port of a listener on loopback.
	Port int `json:"port"`
}

// NewMarks chooses the marks of a run.
func NewMarks(id string) Marks {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	return Marks{
		Name: id,
		Key:  int(binary.BigEndian.Uint32(random[:])>>1) | 1, // 0 is IPC_PRIVATE (shmget(2))
		Port: 20000 + int(binary.BigEndian.Uint16(random[4:]))%10000,
	}
}

// Mark is one of the marks, with the attempt that finds it.
type Mark struct {
	What    string
	Attempt Attempt
	Step    string // of the attempt
	Attack  string // whose answers mean that there is no mark
}

// List returns the marks. The canary that left them looks for them, too, which shows that they can be found.
func (m Marks) List() []Mark {
	return []Mark{
		{"file in /tmp", Attempt{Do: "stat", At: "/tmp/" + m.Name}, "stat", "mark"},
		{"file in /dev/shm", Attempt{Do: "stat", At: "/dev/shm/" + m.Name}, "stat", "mark"},
		{"abstract socket", Attempt{Do: "socket", At: "@" + m.Name}, "connect", "abstract"},
		{"shared memory", Attempt{Do: "attach", At: strconv.Itoa(m.Key)}, "attach", "mark"},
		{"loopback port", Attempt{Do: "tcp", At: m.address()}, "connect", "loopback"},
		{"process", Attempt{Do: "find process", At: m.Name}, "find", "mark"},
	}
}

// Attempts are those that find the marks.
func (m Marks) Attempts() (all []Attempt) {
	for _, mark := range m.List() {
		all = append(all, mark.Attempt)
	}
	return all
}

func (m Marks) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.Port)) }

// leave makes the marks, which end with the run. The run does not find one that could not be made, and reports that.
func (m Marks) leave() (err error) {
	for _, dir := range []string{"/tmp/", "/dev/shm/"} {
		err = errors.Join(err, os.WriteFile(dir+m.Name, []byte(m.Name), 0o666)) //nolint:gosec // for all to see
	}
	for network, address := range map[string]string{"unix": "@" + m.Name, "tcp": m.address()} {
		listener, failed := net.Listen(network, address)
		err = errors.Join(err, failed)
		if failed == nil {
			go acceptAll(listener)
		}
	}
	_, failed := unix.SysvShmGet(m.Key, os.Getpagesize(), unix.IPC_CREAT|unix.IPC_EXCL|0o666)
	return errors.Join(err, failed)
}

func acceptAll(listener net.Listener) {
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		c.Close()
	}
}

func attachShared(key string) error {
	number, err := strconv.Atoi(key)
	if err != nil {
		return err
	}
	id, err := unix.SysvShmGet(number, 0, 0)
	if err != nil {
		return err
	}
	memory, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
	if err != nil {
		return err
	}
	return unix.SysvShmDetach(memory)
}
