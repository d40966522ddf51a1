package selftest

import (
	"encoding/binary"
	"errors"
	"net"
	"time"
)

// A DNS message (RFC 1035, section 4): 12 bytes of header, then one question.
const (
	dnsHeader   = 12
	dnsResponse = 0x80 // in the third byte
	dnsMax      = 512  // bytes, over UDP
)

// question asks for the address of localhost, which every name server knows and nobody has to be asked.
func question(id uint16) []byte {
	message := binary.BigEndian.AppendUint16(nil, id)
	message = append(message, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0) // recursion desired, one question
	message = append(message, 9)
	message = append(message, "localhost"...)
	return append(message, 0, 0, 1, 0, 1) // the root, A, IN
}

// reply answers a question with an address for documentation (RFC 5737); nil where it is none.
func reply(asked []byte) []byte {
	if len(asked) < dnsHeader+5 || asked[2]&dnsResponse != 0 {
		return nil
	}
	answer := append([]byte(nil), asked...)
	answer[2] |= dnsResponse
	answer[7] = 1                                            // one answer
	answer = append(answer, 0xc0, dnsHeader, 0, 1, 0, 1)     // the name of the question, A, IN
	return append(answer, 0, 0, 0, 0, 0, 4, 192, 0, 2, 0x01) // for no time, four bytes
}

// ask sends a question to a name server and waits for an answer.
func ask(server string) error {
	c, err := (&net.Dialer{Timeout: patience}).Dial("udp", server)
	if err != nil {
		return err
	}
	defer c.Close()
	id := uint16(time.Now().UnixNano())
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := c.Write(question(id)); err != nil {
		return err
	}
	answer := make([]byte, dnsMax)
	n, err := c.Read(answer)
	if err != nil {
		return err
	}
	if n < dnsHeader || binary.BigEndian.Uint16(answer) != id || answer[2]&dnsResponse == 0 {
		return errors.New("no answer to what was asked")
	}
	return nil
}
