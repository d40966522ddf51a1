package e2e

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ran "github.com/scidex-ai/scidex-oci/outputs/result"
)

// clients are scripts with the libraries and programs that analyses download with. Each reads one file by http, if it
// can, and one by https.
var clients = map[string]struct{ script, asks string }{
	"curl": {
		"curl -sSf http://api.example.org/files/a.csv && curl -sSf --cacert /inputs/ca.crt https://api.example.org/files/b.csv",
		"a.csv b.csv",
	},
	"wget": {
		"wget -qO- http://api.example.org/files/a.csv && wget -qO- --ca-certificate=/inputs/ca.crt https://api.example.org/files/b.csv",
		"a.csv b.csv",
	},
	"urllib": {askingFrom(`import urllib.request as u
for url in URLS: print(u.urlopen(url).read().decode())`), "a.csv b.csv"},
	"requests": {askingFrom(`import requests
for url in URLS: print(requests.get(url).text)`), "a.csv b.csv"},
	"httpx": {askingFrom(`import httpx
for url in URLS: print(httpx.get(url).text)`), "a.csv b.csv"},
	"aiohttp": {askingFrom(`import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session:
        for url in URLS:
            async with session.get(url) as answer: print(await answer.text())
asyncio.run(main())`), "a.csv b.csv"},
	"pandas": {askingFrom(`import pandas
for url in URLS: print(pandas.read_csv(url).to_csv(index=False))`), "a.csv b.csv"},
	"R": {`cat >ask.R <<'END'
for (file in c("http://api.example.org/files/a.csv", "https://api.example.org/files/b.csv")) {
  download.file(file, "got.csv", quiet = TRUE)
  cat(readLines("got.csv"), sep = "\n")
}
END
CURL_CA_BUNDLE=/inputs/ca.crt Rscript ask.R`, "a.csv b.csv"},
	"git": {"git -c http.sslCAInfo=/inputs/ca.crt clone -q https://api.example.org/files/repository && cat repository/a.csv repository/b.csv", "info/refs HEAD"},
	"pip": {
		"PIP_CERT=/inputs/ca.crt python3 -m pip download -q --no-deps --no-cache-dir --disable-pip-version-check -i https://api.example.org/files/simple/ sample && python3 -m zipfile -e sample-1-py3-none-any.whl . && cat sample/*.csv",
		"simple/sample/ sample-1-py3-none-any.whl",
	},
}

// askingFrom is a script that requests both files.
func askingFrom(text string) string {
	return `cat >ask.py <<'END'
URLS = ["http://api.example.org/files/a.csv", "https://api.example.org/files/b.csv"]
` + text + `
END
export REQUESTS_CA_BUNDLE=/inputs/ca.crt
python3 ask.py`
}

// publish puts two files on the servers, by themselves, in a repository of git and in a wheel.
func (i *internet) publish() {
	i.t.Helper()
	files := map[string]string{"a.csv": "name,value\nfirst,1\n", "b.csv": "name,value\nsecond,2\n"}
	for name, text := range files {
		writeFile(i.t, filepath.Join(i.files, name), text, 0o644)
	}
	const repository = `cd "$1" && git init -q made && cp a.csv b.csv made && cd made && git add . &&
git -c user.name=e2e -c user.email=e2e@example.org commit -qm 'Add tables' && git clone -q --bare . ../repository && cd ../repository && git update-server-info`
	if out, err := exec.Command("sh", "-ec", repository, "sh", i.files).CombinedOutput(); err != nil {
		i.t.Fatalf("%v: %s", err, out)
	}
	i.wheel(files)
}

// wheel is the package sample 1, with an index.
func (i *internet) wheel(files map[string]string) {
	i.t.Helper()
	const name = "sample-1-py3-none-any.whl"
	index := filepath.Join(i.files, "simple", "sample")
	if err := os.MkdirAll(index, 0o755); err != nil {
		i.t.Fatal(err)
	}
	writeFile(i.t, filepath.Join(index, "index.html"), `<!DOCTYPE html><a href="`+name+`">`+name+`</a>`, 0o644)
	file, err := os.Create(filepath.Join(index, name))
	if err != nil {
		i.t.Fatal(err)
	}
	defer file.Close()
	w := zip.NewWriter(file)
	for path, text := range map[string]string{
		"sample/a.csv": files["a.csv"], "sample/b.csv": files["b.csv"], "sample-1.dist-info/RECORD": "",
		"sample-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: sample\nVersion: 1\n",
		"sample-1.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: e2e\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
	} {
		entry, err := w.Create(path)
		if err != nil {
			i.t.Fatal(err)
		}
		if _, err := entry.Write([]byte(text)); err != nil {
			i.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		i.t.Fatal(err)
	}
}

// TestRequestsClients: these programs find the proxy by the variables, and reach nothing without them.
func TestRequestsClients(t *testing.T) {
	all := surfers(t)
	all["root"].publish()
	noVariables := []string{"HTTP_PROXY=", "HTTPS_PROXY=", "ALL_PROXY=", "http_proxy=", "https_proxy=", "all_proxy="}
	for kind, s := range all {
		t.Run(kind, func(t *testing.T) {
			config := s.permit("allow_hosts: [api.example.org]")
			more := []string{s.trust(), "--env", "SSL_CERT_FILE=/inputs/ca.crt"}
			without := slices.Clone(more)
			for _, v := range noVariables {
				without = append(without, "--env", v)
			}
			for title, c := range clients {
				r, _ := s.ask(t, config, c.script, without...)
				if seen := s.requests(); r.State == "complete" || seen != "" {
					t.Errorf("%s: without the variables it is %s, servers saw %q", title, r.State, seen)
				}
				r, out := s.ask(t, config, c.script, more...)
				s.downloaded(t, title, r, s.h.in(t).finish(s.command("--config", config, "logs", r.ID)).stdout, c.asks, out.stderr)
			}
		})
	}
}

func (s surfer) downloaded(t *testing.T, title string, r ran.Result, logs, asks, stderr string) {
	t.Helper()
	if r.State != "complete" || !strings.Contains(logs, "first,1") || !strings.Contains(logs, "second,2") {
		t.Errorf("%s: %s %s\n%s%s", title, r.State, r.Message, logs, stderr)
	}
	if r.Requests == nil || r.Requests.Total == 0 || r.Requests.Refused != 0 {
		t.Errorf("%s: %+v", title, r.Requests)
	}
	seen := s.requests()
	for _, path := range strings.Fields(asks) {
		if !strings.Contains(seen, path) {
			t.Errorf("%s: servers saw %q, without %s", title, seen, path)
		}
	}
}
