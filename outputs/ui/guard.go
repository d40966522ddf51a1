package ui

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// guard checks a request first and returns why it is refused, or nil.
type guard struct {
	name  string
	check func(s *Server, r *http.Request) error
}

// refusal is an answer that is no page: a status and a sentence for a legitimate user.
type refusal struct {
	status int
	error
}

func refuse(status int, why string) error { return refusal{status, errors.New(why)} }

// guards are all checks of a request, in order. Each is the only one that stops some attack (guard_test.go).
func guards() []guard {
	return []guard{
		{"host", checkHost}, {"method", checkMethod}, {"proof", checkProof}, {"site", checkSite}, {"origin", checkOrigin}, {"form", checkForm},
	}
}

// checkHost stops DNS rebinding: a foreign name that resolves to the loopback is still in the header.
func checkHost(s *Server, r *http.Request) error {
	if r.Host != s.host {
		return refuse(http.StatusMisdirectedRequest, "This is the address of another host; open the one that scidex-oci ui has printed.")
	}
	return nil
}

// checkMethod: only one form changes anything.
func checkMethod(_ *Server, r *http.Request) error {
	_, page := split(r)
	switch {
	case page == stopPage && r.Method == http.MethodPost:
		return nil
	case page != stopPage && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return nil
	}
	return refuse(http.StatusMethodNotAllowed, "This address does not take "+r.Method+".")
}

// checkProof: a download's proof is for one file, the pages' for all others. A wrong proof is answered with "not found".
func checkProof(s *Server, r *http.Request) error {
	proof, page := split(r)
	purpose := []string{"pages"}
	if page == downloadPage {
		f, err := fileOf(r)
		if err != nil {
			return err
		}
		purpose = f.purpose()
	}
	if !s.key.proves(proof, purpose...) {
		return refuse(http.StatusNotFound, "There is no such page; open the address that scidex-oci ui has printed.")
	}
	return nil
}

// checkSite refuses requests that another site, or another port of this host, made the browser send. "none" is a URL typed
// or opened from elsewhere (https://www.w3.org/TR/fetch-metadata); other programs do not send the header.
func checkSite(_ *Server, r *http.Request) error {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return nil
	}
	return refuse(http.StatusForbidden, "Another site has led here; type the address, or copy it.")
}

// checkOrigin checks the origin of a form. A page without referrer has "null"
// (https://fetch.spec.whatwg.org/#append-a-request-origin-header): then the browser must say that it is same-origin.
func checkOrigin(s *Server, r *http.Request) error {
	origin := r.Header.Get("Origin")
	ours := r.Header.Get("Sec-Fetch-Site") == "same-origin"
	switch {
	case origin == "http://"+s.host, origin == "null" && ours:
		return nil
	case origin == "" && (ours || r.Method != http.MethodPost):
		return nil
	}
	return refuse(http.StatusForbidden, "Another site has sent this; nothing was done.")
}

// checkForm: a run is stopped only from the form for this very run.
func checkForm(s *Server, r *http.Request) error {
	if r.Method != http.MethodPost {
		return nil
	}
	run, err := formRun(r)
	if err != nil {
		return err
	}
	if !s.key.proves(r.PostForm.Get("proof"), ending(run)...) {
		return refuse(http.StatusForbidden, "This form is not of this run; open the page of the run again.")
	}
	return nil
}

// query parses a query. Each name must be known and occur once.
func query(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "The address cannot be read: "+err.Error()+".")
	}
	return values, eachOnce(values, known)
}

func eachOnce(values url.Values, known []string) error {
	for name, given := range values {
		if len(given) > 1 || !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			return refuse(http.StatusBadRequest, "The address has something that is not known here: \""+name+"\".")
		}
	}
	return nil
}
