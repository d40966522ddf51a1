package proxy

import (
	"net/netip"
	"slices"
	"testing"
)

// TestNAT64Prefixes: a prefix of each length is found by what a resolver makes of ipv4only.arpa, and the address behind it is read; the addresses
// are those of RFC 6052, section 2.4, below another prefix.
func TestNAT64Prefixes(t *testing.T) {
	for prefix, test := range map[string]struct{ discovered, embeds string }{
		"2600:db8::/32":         {"2600:db8:c000:aa::", "2600:db8:c000:221::"},
		"2600:db8:100::/40":     {"2600:db8:1c0:0:aa::", "2600:db8:1c0:2:21::"},
		"2600:db8:122::/48":     {"2600:db8:122:c000:0:aa00::", "2600:db8:122:c000:2:2100::"},
		"2600:db8:122:300::/56": {"2600:db8:122:3c0:0:ab::", "2600:db8:122:3c0:0:221::"},
		"2600:db8:122:344::/64": {"2600:db8:122:344:c0:0:aa00:0", "2600:db8:122:344:c0:2:2100:0"},
		"2600:db8:122:344::/96": {"2600:db8:122:344::192.0.0.171", "2600:db8:122:344::192.0.2.33"},
	} {
		found := discovered([]netip.Addr{netip.MustParseAddr("192.0.0.170"), netip.MustParseAddr(test.discovered)})
		if want := (nat64Prefixes{netip.MustParsePrefix(prefix)}); !slices.Equal(found, want) {
			t.Errorf("%s: found %v, want %v", test.discovered, found, want)
			continue
		}
		if got, want := found.embedded(netip.MustParseAddr(test.embeds)), netip.MustParseAddr("192.0.2.33"); !slices.Equal(got, []netip.Addr{want}) {
			t.Errorf("%s: %v, want %v", test.embeds, got, want)
		}
		if got := found.embedded(netip.MustParseAddr("2606:4700::1111")); len(got) > 0 {
			t.Errorf("%s has %v", prefix, got)
		}
	}
	for _, text := range []string{"192.0.0.170", "::ffff:192.0.0.170", "2606:4700::1111", "::"} {
		if found := discovered([]netip.Addr{netip.MustParseAddr(text)}); len(found) > 0 {
			t.Errorf("%s: found %v", text, found)
		}
	}
}
