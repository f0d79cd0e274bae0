// The event set: what is sealed, signed and admitted (the wire, section 3), and its fingerprint (section 5).

import { decode } from '@msgpack/msgpack'
import { peerIdFromString } from '@libp2p/peer-id'
import { sha256 } from './names.js'

const ENVELOPE_BYTES_MAX = 262_144
const ENVELOPES_MAX = 1_024
const wide = { useBigInt64: true } // stamps do not fit into a double

export class Events {
  constructor (swarm) {
    this.swarm = swarm
    this.opened = new Map() // by id
    this.refused = 0
  }

  // Take in one message of the plan topic.
  async hear (data) {
    const batch = decode(data, wide)
    if (!Array.isArray(batch) || batch.length > ENVELOPES_MAX) throw new Error('no batch of events')
    for (const [payload, signature] of batch) {
      const event = await this.open(payload, signature)
      if (event === undefined) this.refused += 1
      else this.opened.set(event.id, event)
    }
  }

  async open (payload, signature) {
    if (payload.length + signature.length > ENVELOPE_BYTES_MAX) return undefined
    const event = decode(payload, wide)
    const signed = Buffer.concat([Buffer.from(`swarmd/event/1\0${this.swarm.id}\0`), payload])
    if (!await peerIdFromString(event.author).publicKey.verify(signed, signature)) return undefined
    return { ...event, id: sha256(payload).toString('hex'), hlc: BigInt(event.hlc) }
  }

  // Those whose author has shown that it holds the swarm key.
  admitted () {
    const all = [...this.opened.values()]
    const members = new Set(all
      .filter((event) => event.kind === 'member/1' && this.swarm.admits(event.peer, event.proof))
      .map((event) => event.peer))
    return all.filter((event) => members.has(event.author))
  }

  fingerprint () {
    const sum = [...this.opened.keys()].reduce((total, id) => total + BigInt(`0x${id}`), 0n) % (1n << 256n)
    const count = Buffer.alloc(8)
    count.writeBigUInt64BE(BigInt(this.opened.size))
    return sha256(Buffer.from(sum.toString(16).padStart(64, '0'), 'hex'), count).subarray(0, 16).toString('hex')
  }
}
