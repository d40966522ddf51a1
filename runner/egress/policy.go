package egress

import (
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/scidex-ai/scidex-oci/spec"
)

// Policy is what the operator permits. The zero value permits no host.
type Policy struct {
	// Bounds are those of the config files that name hosts (allow_hosts): all of them must permit a host.
	Bounds []Bound
	// Deny and Own are those of Config; Own nil: there are none.
	Deny []netip.Prefix
	Own  func() []string
	// Inject are the headers of --inject, without values.
	Inject []Injection
	// Program opens the program whose command Command is the proxy; nil: there is none.
	Program func() (*os.File, error)
}

// Command is the program's command.
const Command = "proxy"

// Bound are the hosts that one config file permits.
type Bound struct {
	File  string // for messages
	Hosts []spec.Host
}

// Check refuses hosts that the operator does not permit.
func (p Policy) Check(asked []string) error {
	hosts, err := spec.ParseHosts(asked)
	if err != nil || len(hosts) == 0 {
		return err
	}
	if _, err := p.withValues(hosts); err != nil {
		return err
	}
	if err := p.permits(hosts); err != nil {
		return err
	}
	return noUpstream(hosts[0])
}

// permits refuses hosts that a config file does not name.
func (p Policy) permits(hosts []spec.Host) error {
	if len(p.Bounds) == 0 {
		return fmt.Errorf("allow_host %s: no config file permits requests to any host; to permit it, write \"allow_hosts: [%s]\" into /etc/scidex-oci/config.yaml or your own (scidex-oci config set allow_hosts %s)",
			hosts[0], hosts[0], hosts[0])
	}
	for _, h := range hosts {
		for _, b := range p.Bounds {
			if !h.Within(b.Hosts) {
				return b.refuse(h)
			}
		}
	}
	return nil
}

func (b Bound) refuse(h spec.Host) error {
	var names []string
	for _, permitted := range b.Hosts {
		names = append(names, permitted.String())
	}
	if len(names) == 0 {
		return fmt.Errorf("allow_host %s: config file %q permits no host (allow_hosts is empty); leave it out", h, b.File)
	}
	return fmt.Errorf("allow_host %s is not among the hosts that config file %q permits (allow_hosts: %s); name one of them, or leave it out",
		h, b.File, strings.Join(names, ", "))
}

// own returns the platform's own hosts, without directories of sockets.
func (p Policy) own() (hosts []string) {
	if p.Own == nil {
		return nil
	}
	for _, host := range p.Own() {
		if host != "" && !strings.HasPrefix(host, "/") && !strings.HasPrefix(host, "@") {
			hosts = append(hosts, strings.ToLower(strings.TrimSuffix(host, ".")))
		}
	}
	return hosts
}

// upstreams name the proxy by which a user's programs reach the Internet.
var upstreams = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}

// noUpstream refuses to bypass a proxy that an organisation requires: that of a run goes straight to the hosts.
func noUpstream(h spec.Host) error {
	for _, name := range upstreams {
		if os.Getenv(name) != "" {
			return fmt.Errorf("allow_host %s: %s names a proxy, and requests of analyses go straight to their hosts; if those can be reached so, unset it for this command (env -u %s ...)", h, name, name)
		}
	}
	return nil
}
