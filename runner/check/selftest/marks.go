package selftest

import (
	"errors"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// marks are what a canary leaves wherever another run might find it.
type marks struct {
	// Name of a file in /tmp and /dev/shm and of an abstract socket: the run's id, which is an argument of
	// its process, too.
	Name string `json:"name"`
	// Key of a shared memory segment of System V (shmget(2)).
	Key int `json:"key"`
	// Port of a listener on loopback.
	Port int `json:"port"`
}

// sign is one mark: what it is, the try that finds it, and the words of a try that finds nothing.
type sign struct {
	what, step string
	try        try
	gone       []string
}

// signs are the marks. Looked for by the run that left them they show that they can be found.
func (m marks) signs() []sign {
	none := []string{"ENOENT"}
	return []sign{
		{"file in /tmp", "stat", try{Do: "stat", At: "/tmp/" + m.Name}, none},
		{"file in /dev/shm", "stat", try{Do: "stat", At: "/dev/shm/" + m.Name}, none},
		{"abstract socket", "connect", try{Do: "socket", At: "@" + m.Name}, []string{"ECONNREFUSED", "EACCES", "EPERM"}},
		{"shared memory", "attach", try{Do: "shm", At: strconv.Itoa(m.Key)}, none},
		{"loopback port", "connect", try{Do: "tcp", At: m.address()}, closedLoopback},
		{"process", "find", try{Do: "named", At: m.Name}, none},
	}
}

// tries are those of the signs.
func (m marks) tries() (all []try) {
	for _, s := range m.signs() {
		all = append(all, s.try)
	}
	return all
}

func (m marks) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.Port)) }

// leave makes the marks. They end with the run. What could not be made is not found by the run itself, and
// so comes out.
func (m marks) leave() (err error) {
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
