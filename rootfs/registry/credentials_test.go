package registry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// TestAuthFile: which entry of a file applies to which registry; the user is the name of the entry.
func TestAuthFile(t *testing.T) {
	dir := t.TempDir()
	helper := "#!/bin/sh\nread server\n[ $server != unknown.example ] || { echo credentials not found in native keychain; exit 1; }\n" +
		"printf '{\"Username\":\"helper of %s\",\"Secret\":\"x\"}' $server\n"
	must(t, os.WriteFile(dir+"/docker-credential-test", []byte(helper), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	const paths = `{"auths":{
		"host.example":{"auth":"aG9zdDp4"}, "host.example/a":{"auth":"YTp4"}, "host.example/a/b":{"auth":"YWI6eA=="},
		"host.example/c":{}, "host.example:5000/a":{"auth":"cG9ydDp4"}}}`
	for _, c := range []struct{ text, host, path, want string }{
		{paths, "host.example", "a/b/c", "ab"},
		{paths, "host.example", "a/b", "ab"},
		{paths, "host.example", "a/bc", "a"},
		{paths, "host.example", "a", "a"},
		{paths, "host.example", "ab", "host"},
		{paths, "host.example", "c", "host"},
		{paths, "host.example", "d/a/b", "host"},
		{paths, "host.example:5000", "a/x", "port"},
		{paths, "host.example:5000", "b", ""}, // a key for a part is none for the whole
		{paths, "a.host.example", "a", ""},
		{`{"auths":{"host.example/a":{"auth":"YTp4"}}}`, "host.example", "b", ""},
		{`{"auths":{"https://host.example/v1/":{"auth":"djE6eA=="}}}`, "host.example", "a", "v1"},
		{`{"auths":{"http://host.example":{"auth":"djE6eA=="}}}`, "host.example", "a", "v1"},
		{`{"auths":{"ftp://host.example":{"auth":"djE6eA=="}}}`, "host.example", "a", ""},
		{`{"auths":{"https://index.docker.io/v1/":{"auth":"aHViOng="}}}`, "docker.io", "library/python", "hub"},
		{`{"auths":{"docker.io":{"auth":"aHViOng="}}}`, "registry-1.docker.io", "library/python", "hub"},
		{`{"auths":{"docker.io/me":{"auth":"bWU6eA=="},"docker.io":{"auth":"aHViOng="}}}`, "index.docker.io", "me/x", "me"},
		{`{"auths":{"host.example":{"username":"plain","password":"x"}}}`, "host.example", "a", "plain"},
		{`{"auths":{"host.example":{"auth":"aG9zdDp4"}},"credHelpers":{"host.example":"test"}}`, "host.example", "a", "helper of host.example"},
		{`{"auths":{"host.example/a":{"auth":"YTp4"}},"credHelpers":{"host.example":"test"}}`, "host.example", "a", "helper of host.example"},
		{`{"auths":{"host.example/a":{"auth":"YTp4"}},"credsStore":"test"}`, "host.example", "a", "a"},
		{`{"auths":{"host.example":{}},"credsStore":"test"}`, "host.example", "a", "helper of host.example"},
		{`{"auths":{"unknown.example":{"auth":"aG9zdDp4"}},"credsStore":"test"}`, "unknown.example", "a", "host"},
		{`{"credsStore":"test"}`, "docker.io", "library/python", "helper of https://index.docker.io/v1/"},
		{`{"credHelpers":{"docker.io":"test"}}`, "docker.io", "library/python", "helper of docker.io"},
		{`{"auths":null}`, "host.example", "a", ""},
		{" \n", "host.example", "a", ""},
	} {
		must(t, os.WriteFile(dir+"/auth.json", []byte(c.text), 0o600))
		file, err := readAuthFile(dir + "/auth.json")
		must(t, err)
		got, err := file.get(t.Context(), c.host, c.path)
		if err != nil || got.Username != c.want {
			t.Errorf("%s/%s in %s: %q, %v, want %q", c.host, c.path, c.text, got.Username, err, c.want)
		}
	}
}

func TestTokensOfAnAuthFile(t *testing.T) {
	path := t.TempDir() + "/auth.json"
	must(t, os.WriteFile(path, []byte(`{"auths":{"host.example":{"identitytoken":"i"},"other.example":{"registrytoken":"r"}}}`), 0o600))
	file, err := readAuthFile(path)
	must(t, err)
	for host, want := range map[string]auth.Credential{"host.example": {RefreshToken: "i"}, "other.example": {AccessToken: "r"}} {
		if got, err := file.get(t.Context(), host, "a"); got != want || err != nil {
			t.Errorf("%s: %+v, %v", host, got, err)
		}
	}
}

func TestBadAuthFiles(t *testing.T) {
	dir := t.TempDir()
	fifo, loop := dir+"/fifo", dir+"/loop"
	must(t, syscall.Mkfifo(fifo, 0o600), os.Symlink("loop", loop))
	write := func(name, text string) string {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	deep := strings.Repeat(`{"auths":`, 100_000)
	for path, word := range map[string]string{
		fifo: "no regular file", loop: "too many levels", dir: "no regular file", "/dev/zero": "no regular file",
		write("huge", strings.Repeat(" ", maxSmall+1)):            "more than",
		write("deep", deep+strings.Repeat("}", 100_000)[:1]):      "depth",
		write("torn", `{"auths":`):                                "unexpected end",
		write("list", `[]`):                                       "cannot unmarshal",
		write("type", `{"auths":{"host.example":"secret-text"}}`): "cannot unmarshal",
		write("two", `{}{}`):                                      "after top-level",
	} {
		_, err := Stored(func(name string) string { return map[string]string{"REGISTRY_AUTH_FILE": path}[name] })
		expectRefusal(t, err, "REGISTRY_AUTH_FILE", path, word)
	}
	// What cannot be decoded is not shown.
	for _, text := range []string{"c2VjcmV0LXRleHQ=", "secret-text!"} {
		path := write("auth", `{"auths":{"host.example":{"auth":"`+text+`"}}}`)
		file, err := readAuthFile(path)
		must(t, err)
		_, err = file.get(t.Context(), "host.example", "a")
		expectRefusal(t, err, path, "log in again")
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	}
}

// TestLoginToAPart: credentials that skopeo and podman write for a part of a registry are found, and used only for that part.
func TestLoginToAPart(t *testing.T) {
	server := registrytest.Start(t, authority)
	server.Push(t, registrytest.Image(t, 10), "team/image:1")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	registrytest.Run(t, "skopeo", "login", "--cert-dir", authority.Dir, "--username", registrytest.User, "--password", registrytest.Password, server.Address+"/team")
	stored, err := Stored(os.Getenv)
	must(t, err)
	_, err = pull(t, server.Address+"/team/image:1", empty(t), Options{Credentials: stored})
	must(t, err)
	_, err = pull(t, server.Address+"/teams/image:1", empty(t), Options{Credentials: stored})
	expectRefusal(t, err, "wants a user name and a password")
}

// TestAuthFilesInTheirOrder: of the files that exist the first with something for the registry counts.
func TestAuthFilesInTheirOrder(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"XDG_RUNTIME_DIR": dir + "/run", "HOME": dir + "/home"}
	getenv := func(name string) string { return env[name] }
	order := []string{dir + "/run/containers/auth.json", dir + "/home/.config/containers/auth.json", dir + "/home/.docker/config.json"}
	if got := authFiles(getenv); !slices.Equal(got, order) {
		t.Fatalf("%q", got)
	}
	texts := []string{
		`{"auths":{"first.example":{"auth":"MTp4"},"host.example":{}}}`,
		`{"auths":{"first.example":{"auth":"Mjp4"},"host.example":{"auth":"Mjp4"}}}`,
		`{"auths":{"first.example":{"auth":"Mzp4"},"host.example/a":{"auth":"Mzp4"},"last.example":{"auth":"Mzp4"}}}`,
	}
	for i, path := range order {
		must(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(texts[i]), 0o600))
	}
	expect := func(host, want string) {
		t.Helper()
		stored, err := Stored(getenv)
		must(t, err)
		if got, err := stored(t.Context(), host, "a"); got.Username != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", host, got.Username, err, want)
		}
	}
	expect("first.example", "1")
	expect("host.example", "2")
	expect("last.example", "3")
	expect("none.example", "")
	env["REGISTRY_AUTH_FILE"] = order[2]
	expect("first.example", "3")
	delete(env, "REGISTRY_AUTH_FILE")
	must(t, os.Remove(order[0]))
	expect("first.example", "2")
	must(t, os.WriteFile(order[1], []byte("{"), 0o600))
	_, err := Stored(getenv)
	expectRefusal(t, err, "credential file", order[1])

	env["DOCKER_CONFIG"], env["XDG_CONFIG_HOME"], env["XDG_RUNTIME_DIR"] = "/d", "/c", "relative"
	if got := authFiles(getenv); !slices.Equal(got[1:], []string{"/c/containers/auth.json", "/d/config.json"}) || !strings.HasPrefix(got[0], "/run/containers/") {
		t.Errorf("%q", got)
	}
}
