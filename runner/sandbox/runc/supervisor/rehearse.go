package supervisor

import "net"

// RehearseProc mounts its own /proc. It needs a PID namespace too.
func RehearseProc() error { return mountProc() }

// RehearseLoopback brings up the network namespace's interface and connects to itself there.
func RehearseLoopback() error {
	if err := loopbackUp(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	return c.Close()
}
