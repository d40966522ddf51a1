package commands

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// TestListenForUI: nobody of another host can come, whatever is asked for.
func TestListenForUI(t *testing.T) {
	listen := func(address string) options.Text {
		return options.Text{Value: address, Given: true, Label: "--listen"}
	}
	for _, address := range []string{"127.0.0.1:0", "127.0.0.2:0", "[::1]:0"} {
		listener, err := listenForUI(listen(address))
		if err != nil {
			if address == "[::1]:0" && !strings.Contains(err.Error(), "of the loopback and a port") {
				t.Skip("this host has no IPv6")
			}
			t.Errorf("%s: %v", address, err)
			continue
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{
		"", ":0", "0.0.0.0:0", "[::]:0", "localhost:0", "127.0.0.1", "127.1:0", "192.0.2.1:80", "[::ffff:127.0.0.1]:0", "[::1%lo]:0", "127.0.0.1:x", "127.0.0.1:70000",
		"hostile.invalid:80", "2130706433:0", "unix:/tmp/x",
	} {
		listener, err := listenForUI(listen(address))
		if err == nil {
			t.Errorf("%q: it listens at %s", address, listener.Addr())
			listener.Close()
			continue
		}
		if !strings.Contains(err.Error(), "--listen \""+address+"\"") || !strings.Contains(err.Error(), "127.0.0.1:0") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
