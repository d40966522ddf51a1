package spec

import (
	"maps"
	"slices"
)

// Merge lays over on base: given values replace others; variables, secrets and labels one by one.
func Merge(base, over Analysis) Analysis {
	a := base
	for _, f := range fields {
		switch to := f.At(&a).(type) {
		case *map[string]string:
			*to = union(*to, *f.At(&over).(*map[string]string))
		default:
			if from := f.in(&over); !from.IsZero() {
				f.in(&a).Set(from)
			}
		}
	}
	a.Env, a.Secrets = mergeSecrets(a.Env, base.Secrets, over)
	return a
}

// mergeSecrets merges variables and secrets: a name in over, as either of them, replaces that name in the layers below.
// A name that over has as both stays both, and Validate refuses it.
func mergeSecrets(env map[string]string, below []string, over Analysis) (map[string]string, []string) {
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
