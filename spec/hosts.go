package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Host is one that an analysis may send requests to through the proxy: a full DNS name in lower case, "api.example.org",
// or, with Below, every name below it. Port 0 is 80 and 443.
type Host struct {
	Name  string
	Below bool
	Port  uint16
}

// The ports that an analysis may use although the operator has not named them.
const (
	PortHTTP  = 80
	PortHTTPS = 443
)

const belowAll = "*."

// ParseHost parses "api.example.org", "api.example.org:443" or "*.example.org".
func ParseHost(text string) (Host, error) {
	if strings.Contains(text, "://") || strings.Contains(text, "/") {
		return Host{}, badField("allow_host", "%s is a URL: give only the name of its host, such as api.example.org", quote(text))
	}
	name, port, hasPort := strings.Cut(text, ":")
	h := Host{}
	if hasPort {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 || port[0] == '0' || port[0] == '+' {
			return Host{}, badField("allow_host", "%s has no port from 1 to 65535 after the ':'; IPv6 addresses cannot be given, only names", quote(text))
		}
		h.Port = uint16(number)
	}
	h.Name, h.Below = strings.CutPrefix(strings.ToLower(name), belowAll)
	if problem := nameProblem(h.Name); problem != "" {
		return Host{}, badField("allow_host", "%s %s: give a full DNS name, such as api.example.org", quote(text), problem)
	}
	return h, nil
}

// nameProblem says why name is no full DNS name; "" if it is one. Names that a resolver or inet_aton(3) may take for an
// address are refused too: their last label begins with a digit.
func nameProblem(name string) string {
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	switch {
	case len(name) > 253:
		return "is longer than 253 bytes"
	case strings.HasSuffix(name, "."):
		return "ends with '.'"
	case !slices.ContainsFunc(labels, func(l string) bool { return !validLabel(l) }) && last[0] >= '0' && last[0] <= '9':
		return "is an address or ends with a number"
	case slices.ContainsFunc(labels, func(l string) bool { return !validLabel(l) }):
		return "has a part that is empty, longer than 63 bytes or not of letters, digits and '-' (international names are given in their xn-- form)"
	case len(labels) == 1:
		return "has only one part, which could be any host of the local network"
	}
	return ""
}

func validLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(label, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// String is what ParseHost parses.
func (h Host) String() string {
	text := h.Name
	if h.Below {
		text = belowAll + text
	}
	if h.Port != 0 {
		text += ":" + strconv.Itoa(int(h.Port))
	}
	return text
}

// Covers reports whether the host is, or is below, what h names. A name in capitals or with a final '.' does not match.
func (h Host) Covers(name string, port uint16) bool {
	if h.Port != port && (h.Port != 0 || port != PortHTTP && port != PortHTTPS) {
		return false
	}
	if h.Below {
		return strings.HasSuffix(name, "."+h.Name) && nameProblem(name) == ""
	}
	return name == h.Name
}

// Within reports whether everything that h permits is permitted by one of the bounds.
func (h Host) Within(bounds []Host) bool {
	ports := []uint16{h.Port}
	if h.Port == 0 {
		ports = []uint16{PortHTTP, PortHTTPS}
	}
	return !slices.ContainsFunc(ports, func(port uint16) bool {
		return !slices.ContainsFunc(bounds, func(b Host) bool { return b.includes(h, port) })
	})
}

// includes compares what two hosts permit on one port.
func (h Host) includes(other Host, port uint16) bool {
	if other.Below {
		return h.Below && h.Covers("a."+other.Name, port)
	}
	return h.Covers(other.Name, port)
}

// ParseHosts parses a list, sorted and each once.
func ParseHosts(list []string) ([]Host, error) {
	const most = 100
	if len(list) > most {
		return nil, badField("allow_hosts", "has %d hosts: at most %d are permitted", len(list), most)
	}
	var hosts []Host
	for _, text := range list {
		h, err := ParseHost(text)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b Host) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(hosts), nil
}

// Requests reports whether the analysis may send requests to named hosts.
func (a Analysis) Requests() bool { return len(a.AllowHosts) > 0 }

// checkHosts also refuses inputs that a run with requests cannot honour.
func checkHosts(a Analysis) error {
	if _, err := ParseHosts(a.AllowHosts); err != nil {
		return err
	}
	if a.Upload != 0 && !a.Requests() {
		return fmt.Errorf("allow_upload bounds what is sent to hosts, and allow_hosts names none: add a host or take it out")
	}
	return nil
}
