package plan

import (
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/egress"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/spec"
)

// checkRequests refuses hosts that the operator does not permit.
func checkRequests(host *phase.Host, p *Plan) error {
	return host.Egress.Check(p.Analysis.AllowHosts)
}

// listen is where the proxy of the run listens; 0 if the analysis sends no requests.
func (p *Plan) listen() uint16 {
	if !p.Analysis.Requests() {
		return 0
	}
	return spec.ProxyPort
}

// Egress is what the proxy of the run may send, and where.
func (p *Plan) Egress() egress.Config {
	return egress.Config{Hosts: p.Analysis.AllowHosts, Upload: int64(p.Analysis.Upload)}
}

// Requests returns the result's requests before the first; nil if the analysis sends none.
func (p *Plan) Requests() *result.Requests {
	if !p.Analysis.Requests() {
		return nil
	}
	return &result.Requests{Hosts: p.Analysis.AllowHosts, UploadBytes: int64(p.Analysis.Upload), List: []result.Request{}}
}
