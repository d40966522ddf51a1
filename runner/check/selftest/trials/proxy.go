package trials

import (
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
)

// others are what the proxy of a run must refuse, whatever hosts are permitted: the metadata of clouds, this host, and a name that does not
// exist.
var others = []string{"169.254.169.254:80", "localhost:80", "127.0.0.1:443", "[::1]:443", "selftest.invalid:443"}

// ByProxy try to reach by the proxy of the run what others try to connect to, and more. A proxy that tries is a failure or proves nothing.
func ByProxy(connecting []Trial) (all []Trial) {
	for _, t := range connecting {
		if t.Attempt.Do == "tcp" {
			t.Check, t.Attempt.Do, t.Judge = "proxy", "proxy", refusedByProxy
			all = append(all, t)
		}
	}
	for _, address := range others {
		all = append(all, Fact("proxy", address, canary.Attempt{Do: "proxy", At: address}, refusedByProxy))
	}
	return all
}

var refusedByProxy = judge.Refused([]string{"ask"}, canary.Refused)
