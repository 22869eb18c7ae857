/** Bytes of one record: its own number, and the number of the last record that has come from the other side. */
const RECORD = 16;

/** Both directions of one connection: records that count up. Whatever is lost, doubled or out of order is seen at once. */
export class NumberedStream {
  sent = 0;
  /** Of this side's, what the other one has said that it has. */
  confirmed = 0;
  received = 0;
  /** What was wrong first. */
  fault: string | undefined;
  #rest: Buffer = Buffer.alloc(0);

  /** The next record to send. */
  next(): Buffer {
    const record = Buffer.alloc(RECORD);
    record.writeBigUInt64BE(BigInt(++this.sent), 0);
    record.writeBigUInt64BE(BigInt(this.received), 8);
    return record;
  }

  /** Takes bytes as they come, cut up anywhere. */
  take(bytes: Buffer): void {
    let rest = Buffer.concat([this.#rest, bytes]);
    for (; rest.length >= RECORD; rest = rest.subarray(RECORD)) {
      const number = Number(rest.readBigUInt64BE(0));
      const confirmed = Number(rest.readBigUInt64BE(8));
      if (number !== this.received + 1) this.fault ??= `record ${number} came after ${this.received}`;
      if (confirmed < this.confirmed || confirmed > this.sent)
        this.fault ??= `the other side has ${confirmed} of ${this.sent}, after ${this.confirmed}`;
      this.received = number;
      this.confirmed = confirmed;
    }
    this.#rest = rest;
  }
}
