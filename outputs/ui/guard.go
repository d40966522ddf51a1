package ui

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// guard looks at a request before anything else does, and returns why it is refused, or nil.
type guard struct {
	name  string
	check func(s *Server, r *http.Request) error
}

// refusal is an answer that is no page: a status, and a sentence for whoever meant well.
type refusal struct {
	status int
	error
}

func refuse(status int, why string) error { return refusal{status, errors.New(why)} }

// guards are all that a request has to pass, in this order. Each is the only one that stops some attack (guard_test.go).
func guards() []guard {
	return []guard{
		{"host", checkHost}, {"method", checkMethod}, {"proof", checkProof}, {"site", checkSite}, {"origin", checkOrigin}, {"form", checkForm},
	}
}

// checkHost: a foreign name that was made to resolve to the loopback (DNS rebinding) is still in the header.
func checkHost(s *Server, r *http.Request) error {
	if r.Host != s.host {
		return refuse(http.StatusMisdirectedRequest, "This is the address of another host; open the one that scidex-oci ui has printed.")
	}
	return nil
}

// checkMethod: nothing is changed but by one form.
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

// checkProof: that of a download is for one file, that of the pages for all others. What is wrong is answered as what is not there.
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

// checkSite: what another site, or another port of this host, has made the browser ask for. "none" is an address that somebody
// has typed or opened from elsewhere (https://www.w3.org/TR/fetch-metadata); programs that are no browser say nothing.
func checkSite(_ *Server, r *http.Request) error {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return nil
	}
	return refuse(http.StatusForbidden, "Another site has led here; type the address, or copy it.")
}

// checkOrigin: that of a form's page. A page that tells nobody where it is has the origin "null"
// (https://fetch.spec.whatwg.org/#append-a-request-origin-header): then the browser has to say that it is ours.
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

// checkForm: whoever stops a run was shown the form for this very run.
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

// query is what an address asks for. Each name is there once, and known.
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
