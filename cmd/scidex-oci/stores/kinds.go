package stores

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// kind is a kind of store, by the scheme of its URLs.
type kind struct {
	scheme string
	form   string // of a URL, for messages; "" for another name of a kind
	local  bool   // on this host, at a path; else package remote has a driver for the scheme
	bare   bool   // the scheme may be all of a URL: the rest has defaults
}

// databases and blobStores are all kinds that there are.
var (
	databases = []kind{
		{scheme: "sqlite", form: "sqlite://PATH", local: true},
		{scheme: "postgres", form: "postgres://USER@HOST:PORT/DATABASE", bare: true},
		{scheme: "postgresql", bare: true},
	}
	blobStores = []kind{
		{scheme: "file", form: "file://DIR", local: true},
		{scheme: "s3", form: "s3://BUCKET/PREFIX"},
	}
)

// kindOf is the kind of the store with that URL. rest is what follows the scheme.
func kindOf(t options.Text, among []kind) (k kind, rest string, err error) {
	scheme, rest, _ := strings.Cut(t.Value, "://")
	i := slices.IndexFunc(among, func(k kind) bool { return k.scheme == scheme })
	if i < 0 || rest == "" && !among[i].bare {
		var forms []string
		for _, k := range among {
			if k.form != "" {
				forms = append(forms, k.form)
			}
		}
		return kind{}, "", fmt.Errorf("%s %q: give %s", t.Label, redacted(t.Value), strings.Join(forms, " or "))
	}
	return among[i], rest, nil
}

// Remote reports whether the options name a store on another host.
func Remote(g *options.Global) bool {
	remote := func(t options.Text, among []kind) bool {
		k, _, err := kindOf(t, among)
		return t.Given && err == nil && !k.local
	}
	return remote(g.DB, databases) || remote(g.Blobs, blobStores)
}
