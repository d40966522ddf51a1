package commands

import (
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/rootfs/registry"
)

// registryOptions are those of a pull or a push. plainHTTP disables TLS for the registry.
func registryOptions(p *command.Program, plainHTTP bool) (registry.Options, error) {
	o := registry.Options{
		PlainHTTP: plainHTTP, UserAgent: "scidex-oci/" + p.Build.Version,
		Sites: map[string]registry.Site{}, CertDirs: registry.CertDirs(p.Env.Text),
	}
	known, err := p.Options.Registries()
	if err != nil {
		return o, err
	}
	for host, r := range known {
		o.Sites[host] = registry.Site(r)
	}
	o.Credentials, err = registry.Stored(p.Env.Text)
	return o, err
}
