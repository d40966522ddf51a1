package result

import (
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Requests are those of an analysis to hosts, through the proxy of its run (--allow-host).
type Requests struct {
	// Hosts are the permitted ones: "api.example.org", "*.example.org", or with ":PORT".
	Hosts []string `json:"hosts"`
	// Total counts the requests, of which Refused were refused by the proxy and Failed by the network or a server.
	Total   int64 `json:"total"`
	Refused int64 `json:"refused"`
	Failed  int64 `json:"failed"`
	// SentBytes and ReceivedBytes are those of all requests, with TLS and headers; at most UploadBytes might be sent.
	SentBytes     int64 `json:"sent_bytes"`
	ReceivedBytes int64 `json:"received_bytes"`
	UploadBytes   int64 `json:"upload_bytes"`
	// List has the first 100 requests, in the order of their ends.
	List []Request `json:"list"`
}

// requestsMax bounds Requests.List.
const requestsMax = 100

// The verdicts of a request.
const (
	RequestAllowed = "allowed"
	RequestRefused = "refused" // by the proxy: nothing reached the server
	RequestFailed  = "failed"  // by the network or the server
)

// Request is one request. Only the host is recorded, not what the analysis requested of it.
type Request struct {
	At     time.Time `json:"at"`     // UTC
	Method string    `json:"method"` // "CONNECT": a tunnel, with any number of requests over TLS in it
	Host   string    `json:"host"`
	Port   uint16    `json:"port"` // 0 if the request has none that can be read
	// Address is the server's; it is omitted if none was reached.
	Address  string `json:"address,omitempty"`
	Sent     int64  `json:"sent_bytes"`
	Received int64  `json:"received_bytes"`
	MS       int64  `json:"ms"`
	Verdict  string `json:"verdict"` // "allowed", "refused" or "failed"
	// Why is one sentence, omitted if the request was allowed and did not fail.
	Why string `json:"why,omitempty"`
}

// Add adds a request that has ended.
func (r *Requests) Add(one Request) {
	r.Total++
	switch one.Verdict {
	case RequestRefused:
		r.Refused++
	case RequestFailed:
		r.Failed++
	}
	r.SentBytes += one.Sent
	r.ReceivedBytes += one.Received
	if len(r.List) < requestsMax {
		r.List = append(r.List, one)
	}
}

// Sum says in a few words how many there were and what they moved.
func (r *Requests) Sum() string {
	if r.Total == 0 {
		return "none"
	}
	text := fmt.Sprintf("%d, %s sent, %s received", r.Total, format.Size(r.SentBytes), format.Size(r.ReceivedBytes))
	if r.Refused > 0 {
		text += fmt.Sprintf(", %d refused", r.Refused)
	}
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	return text
}
