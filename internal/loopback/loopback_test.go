package loopback

import "testing"

func TestNames(t *testing.T) {
	for address, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "localhost:5000": true, "127.0.0.1": true, "127.9.9.9:80": true, "[::1]:5000": true, "[::1]": true, "::1": true,
		"localhost.example": false, "127.0.0.1.example:5000": false, "10.0.0.1": false, "registry.example:5000": false, "": false, "[": false, "[]": false,
		"::": false, "0.0.0.0": false, "[localhost": false,
	} {
		if got := Names(address); got != want {
			t.Errorf("%q names this machine: %v", address, got)
		}
	}
}
