package execute

import (
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/egress"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// sendOn starts the proxy of an analysis that may send requests, before it starts, and returns what counts them; nil and nil for one that
// may not. From then on only the proxy has the socket: when it has ended, in whatever way, nothing listens.
func sendOn(created *sandbox.Created, policy egress.Policy, p *plan.Plan, tell func(result.Request)) (*egress.Process, *result.Requests, error) {
	if created.Listener == nil {
		return nil, nil, nil
	}
	requests := p.Requests()
	proxy, err := policy.Start(created.Listener, p.Egress(), func(r result.Request) {
		requests.Add(r)
		tell(r)
	})
	if err == nil {
		err = created.LetGo()
	}
	return proxy, requests, err
}
