package options

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const registriesText = `short_names:
  python: docker.io/library/python
  me/tools: registry.example:5000/tools
registries:
  docker.io:
    mirrors: [mirror.example.org/docker, "[::1]:5000", localhost]
  registry.example:5000: {plain_http: true, mirrors: mirror.example.org:443}
  plain.example: {plain_http: false}
`

// TestRegistries: entries of the operator's config file hold unless the caller's has the same host or name.
func TestRegistries(t *testing.T) {
	dir := t.TempDir()
	operator := write(t, filepath.Join(dir, "operator.yaml"), registriesText)
	mine := write(t, filepath.Join(dir, "mine.yaml"), `short_names: {python: mine.example/python, r-base: mine.example/r}
registries: {docker.io: {}, own.example: {mirrors: []}}
`)
	whole := map[string]Registry{
		"docker.io":             {Mirrors: []string{"mirror.example.org/docker", "[::1]:5000", "localhost"}},
		"registry.example:5000": {Mirrors: []string{"mirror.example.org:443"}, PlainHTTP: true}, "plain.example": {},
	}
	names := map[string]string{"python": "docker.io/library/python", "me/tools": "registry.example:5000/tools"}
	over, overNames := map[string]Registry{"own.example": {}}, map[string]string{}
	for host, r := range whole {
		over[host] = r
	}
	over["docker.io"] = Registry{}
	overNames["me/tools"], overNames["python"], overNames["r-base"] = names["me/tools"], "mine.example/python", "mine.example/r"
	for name, c := range map[string]struct {
		used, operator string
		registries     map[string]Registry
		names          map[string]string
	}{
		"nowhere":            {write(t, filepath.Join(dir, "plain.yaml"), "memory: 1GiB\n"), dir + "/none", map[string]Registry{}, map[string]string{}},
		"mine":               {operator, dir + "/none", whole, names},
		"the operator's own": {operator, operator, whole, names},
		"the operator's":     {filepath.Join(dir, "plain.yaml"), operator, whole, names},
		"both":               {mine, operator, over, overNames},
	} {
		used, err := readConfig(c.used, configKeys())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := used.registries(c.operator); err != nil || !reflect.DeepEqual(got, c.registries) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.registries)
		}
		if got, err := used.shortNames(c.operator); err != nil || !reflect.DeepEqual(got, c.names) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.names)
		}
	}
	bad := write(t, filepath.Join(dir, "bad.yaml"), "registries: 1\n")
	if _, err := (layer{}).registries(bad); err == nil {
		t.Error("a bad file of the operator's is passed over")
	}
	if _, err := (layer{}).shortNames(bad); err == nil {
		t.Error("a bad file of the operator's is passed over")
	}
}

func TestRegistriesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"short_names: [a]\n": "line 1: short_names: not a mapping, as in",
		"short_names: {Python: docker.io/library/python}\n":       `"Python" is no short name`,
		"short_names: {'a:1': docker.io/library/python}\n":        `"a:1" is no short name`,
		"short_names: {docker.io/a: docker.io/library/python}\n":  `"docker.io/a" is no short name`,
		"short_names: {../a: docker.io/library/python}\n":         `"../a" is no short name`,
		"short_names: {a=b: docker.io/library/python}\n":          `"a=b" is no short name`,
		"short_names: {python: python}\n":                         "python: give HOST/PATH, without tag and digest",
		"short_names: {python: library/python}\n":                 "python: give HOST/PATH",
		"short_names: {python: 'docker.io/library/python:3'}\n":   "python: give HOST/PATH",
		"short_names: {python: https://docker.io/python}\n":       "python: give HOST/PATH",
		"short_names: {python: [docker.io/a]}\n":                  "python: give HOST/PATH",
		"short_names: {a: b.example/a, a: b.example/b}\n":         `"a" is given twice`,
		"registries: docker.io\n":                                 "line 1: registries: not a mapping",
		"registries: {python: {}}\n":                              `"python" is no registry; give HOST or HOST:PORT`,
		"registries: {docker.io/library: {}}\n":                   `"docker.io/library" is no registry`,
		"registries: {'a.example b.example': {}}\n":               "is no registry",
		"registries: {https://docker.io: {}}\n":                   "is no registry",
		"registries: {index.docker.io: {}}\n":                     `"index.docker.io" is called docker.io here; write that`,
		"registries: {docker.io: mirror.example.org}\n":           "docker.io: not a mapping",
		"registries: {docker.io: {mirror: a.example}}\n":          `docker.io: unknown key "mirror"; did you mean "mirrors"?`,
		"registries: {docker.io: {insecure: true}}\n":             `write "plain_http: true" for a registry without TLS`,
		"registries: {docker.io: {plain_http: maybe}}\n":          "docker.io: plain_http: give true or false",
		"registries: {docker.io: {plain_http: [true]}}\n":         "docker.io: plain_http: give true or false",
		"registries: {docker.io: {mirrors: https://a.example}}\n": `docker.io: mirrors: "https://a.example" is no mirror; give HOST[:PORT]`,
		"registries: {docker.io: {mirrors: [a]}}\n":               `"a" is no mirror`,
		"registries: {docker.io: {mirrors: [a.example/]}}\n":      "is no mirror",
		"registries: {docker.io: {mirrors: [a.example/b:1]}}\n":   "is no mirror",
		"registries: {docker.io: {mirrors: [me@a.example/b]}}\n":  "is no mirror",
		"registries: {docker.io: {mirrors: {a: b}}}\n":            "is no mirror",
		"registries: {docker.io: {mirrors: [[a.example]]}}\n":     "give one value",
		"registries: {docker.io: {mirrors: null}}\n":              "docker.io: mirrors: give a value",
		"registries: {docker.io: {}, docker.io: {}}\n":            `"docker.io" is given twice`,
		"registries: {docker.io: {mirrors: !x a.example}}\n":      `the tag "!x" is not known here`,
	} {
		_, err := parseConfig([]byte(text), configKeys())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
}

// TestRegistryKeys are keys with dots of their own.
func TestRegistryKeys(t *testing.T) {
	for name, want := range map[string][]string{
		"short_names.python":                          {"docker.io/library/python"},
		"short_names.me/tools":                        {"registry.example:5000/tools"},
		"short_names.me":                              nil,
		"registries.docker.io.mirrors":                {"mirror.example.org/docker", "[::1]:5000", "localhost"},
		"registries.docker.io.plain_http":             nil,
		"registries.registry.example:5000.plain_http": {"true"},
		"registries.plain.example.plain_http":         {"false"},
		"registries.none.example.mirrors":             nil,
	} {
		key, err := ParseConfigKey(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadConfigKey([]byte(registriesText), key)
		if err != nil || !slices.Equal(got, want) || key.List != strings.HasSuffix(name, "mirrors") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
		if absolute := key.Absolute("/dir", want); !slices.Equal(absolute, want) {
			t.Errorf("%s: %q became %q", name, want, absolute)
		}
	}
	for name, want := range map[string]string{
		"registries":                    `unknown key "registries"`,
		"short_names":                   `unknown key "short_names"`,
		"short-names.a":                 `unknown key "short-names.a"`,
		"registries.mirrors":            `unknown key "registries.mirrors"`,
		"registries.docker.io":          `write registries.HOST.mirrors or registries.HOST.plain_http`,
		"registries.docker.io.mirror":   `registries.HOST.plain_http; did you mean "mirrors"?`,
		"registries.docker.io.insecure": `unknown key "registries.docker.io.insecure"`,
	} {
		if key, err := ParseConfigKey(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", name, key, err, want)
		}
	}
}
