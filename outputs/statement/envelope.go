package statement

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// PayloadType is the media type of what an envelope holds.
const PayloadType = "application/vnd.in-toto+json"

// PAE is what is signed (DSSE v1, "pre-authentication encoding"): the type and the payload, each after its length.
func PAE(payloadType string, payload []byte) []byte {
	head := "DSSEv1 " + strconv.Itoa(len(payloadType)) + " " + payloadType + " " + strconv.Itoa(len(payload)) + " "
	return append([]byte(head), payload...)
}

// envelope is a DSSE envelope. Its payload is of PayloadType.
type envelope struct {
	payload    []byte
	signatures []signature
}

type signature struct {
	keyID string
	sig   []byte
}

// encode is the envelope as one line.
func (e envelope) encode() ([]byte, error) {
	type sig struct {
		KeyID string `json:"keyid"`
		Sig   []byte `json:"sig"`
	}
	form := struct {
		Payload     []byte `json:"payload"`
		PayloadType string `json:"payloadType"`
		Signatures  []sig  `json:"signatures"`
	}{Payload: e.payload, PayloadType: PayloadType}
	for _, s := range e.signatures {
		form.Signatures = append(form.Signatures, sig{s.keyID, s.sig})
	}
	line, err := json.Marshal(form)
	return append(line, '\n'), err
}

// parseEnvelope reads an envelope strictly: exactly the fields that encode writes, and base64 as it writes that.
func parseEnvelope(line []byte) (e envelope, err error) {
	o, err := parseObject(line)
	if err != nil {
		return e, err
	}
	if err := onlyNames(o, "payload", "payloadType", "signatures"); err != nil {
		return e, err
	}
	if o["payloadType"] != PayloadType {
		return e, fmt.Errorf("payloadType is %s and not %q", shown(o["payloadType"]), PayloadType)
	}
	if e.payload, err = decodeBase64(o["payload"]); err != nil {
		return e, fmt.Errorf("payload: %w", err)
	}
	e.signatures, err = parseSignatures(o["signatures"])
	return e, err
}

func parseSignatures(value any) (all []signature, err error) {
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New("signatures: it has none")
	}
	for i, one := range list {
		path := at("signatures", i)
		o, ok := one.(object)
		if !ok {
			return nil, fmt.Errorf("%s is no object", path)
		}
		if err := onlyNames(o, "keyid", "sig"); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		var s signature
		if s.keyID, ok = o["keyid"].(string); !ok {
			return nil, fmt.Errorf("%s.keyid is no text", path)
		}
		if s.sig, err = decodeBase64(o["sig"]); err != nil {
			return nil, fmt.Errorf("%s.sig: %w", path, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// onlyNames refuses an object that has other names than these.
func onlyNames(o object, names ...string) error {
	want := object{}
	for _, name := range names {
		want[name] = o[name]
	}
	return objectDifference("", o, want)
}

// decodeBase64 takes the one form that encode writes (RFC 4648, section 4): DSSE allows others, and a line break would be ignored.
func decodeBase64(value any) ([]byte, error) {
	text, ok := value.(string)
	if !ok {
		return nil, errors.New("it is no text")
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("it is not base64 with the standard alphabet and padding")
	}
	if base64.StdEncoding.EncodeToString(data) != text {
		return nil, errors.New("it is base64 in another form than scidex-oci writes")
	}
	return data, nil
}
