package listener

import (
	"net"
	"testing"
)

// A client that sends nothing is counted, too.
func TestSilentClient(t *testing.T) {
	l, err := New("tcp", "127.0.0.1:0", "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := l.Count(); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
