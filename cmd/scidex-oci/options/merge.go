package options

import (
	"maps"
	"slices"

	"github.com/scidex-ai/scidex-oci/spec"
)

// Merge lays over on base: given values replace others; variables, secrets and labels one by one.
func Merge(base, over spec.Analysis) spec.Analysis {
	a := base
	for _, field := range []struct{ to, from *string }{
		{&a.ID, &over.ID},
		{&a.Script, &over.Script},
		{&a.Data, &over.Data},
		{&a.Docs, &over.Docs},
		{&a.Project, &over.Project},
		{&a.Stage, &over.Stage},
		{&a.Export, &over.Export},
		{&a.Workdir, &over.Workdir},
		{&a.Rootfs, &over.Rootfs},
		{&a.Runtime, &over.Runtime},
		{&a.IDs, &over.IDs},
		{&a.WorkStorage, &over.WorkStorage},
		{&a.Limits, &over.Limits},
		{&a.DigestInputs, &over.DigestInputs},
		{&a.Keep, &over.Keep},
		{&a.Preload, &over.Preload},
		{&a.Warm, &over.Warm},
	} {
		replace(field.to, *field.from)
	}
	replace(&a.Deterministic, over.Deterministic)
	replace(&a.Memory, over.Memory)
	replace(&a.LogSize, over.LogSize)
	replace(&a.WorkSize, over.WorkSize)
	replace(&a.WorkFiles, over.WorkFiles)
	replace(&a.Upload, over.Upload)
	replace(&a.CPUs, over.CPUs)
	replace(&a.Pids, over.Pids)
	replace(&a.Timeout, over.Timeout)
	replace(&a.Grace, over.Grace)
	for _, list := range []struct{ to, from *[]string }{
		{&a.Command, &over.Command},
		{&a.Args, &over.Args},
		{&a.Inputs, &over.Inputs},
		{&a.Outputs, &over.Outputs},
		{&a.Exclude, &over.Exclude},
		{&a.AllowHosts, &over.AllowHosts},
	} {
		if *list.from != nil {
			*list.to = *list.from
		}
	}
	a.Labels = union(base.Labels, over.Labels)
	a.Env = union(base.Env, over.Env)
	a.Env, a.Secrets = mergeSecrets(a.Env, base.Secrets, over)
	return a
}

// mergeSecrets lets what over says of a name override the layers below. A name that over itself has as both stays both, and
// is refused by the validation.
func mergeSecrets(env map[string]string, below []string, over spec.Analysis) (map[string]string, []string) {
	maps.DeleteFunc(env, func(name, _ string) bool {
		_, both := over.Env[name]
		return !both && slices.Contains(over.Secrets, name)
	})
	var secrets []string
	for _, name := range below {
		if _, variable := over.Env[name]; !variable {
			secrets = append(secrets, name)
		}
	}
	for _, name := range over.Secrets {
		if !slices.Contains(secrets, name) {
			secrets = append(secrets, name)
		}
	}
	return env, secrets
}

func replace[T comparable](to *T, from T) {
	var zero T
	if from != zero {
		*to = from
	}
}

func union(base, over map[string]string) map[string]string {
	if len(base)+len(over) == 0 {
		return nil
	}
	all := maps.Clone(base)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, over)
	return all
}
