// Names and keys of a swarm (the wire, sections 1 and 2).

import { createHash, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

export const sha256 = (...parts) => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

const derived = (key, purpose) => createHmac('sha256', key).update(purpose).digest()

function parseKey (text) {
  const [prefix, digits] = text.trim().toLowerCase().split(':')
  if (prefix !== 'swarmd-key-1') throw new Error('not a swarm key')
  const fives = [...digits.replaceAll('-', '')].map((digit) => BASE32.indexOf(digit).toString(2).padStart(5, '0'))
  const bytes = Buffer.from(fives.join('').match(/.{8}/g).map((octet) => parseInt(octet, 2)))
  const key = bytes.subarray(0, 32)
  if (!sha256('swarmd/key/1 ', key).subarray(0, 3).equals(bytes.subarray(32))) throw new Error('a mistyped swarm key')
  return key
}

export function readSwarm (file) {
  const key = parseKey(readFileSync(file, 'utf8'))
  const id = sha256('swarmd/swarm/1 ', key).toString('hex').slice(0, 32)
  return {
    id,
    planTopic: `/swarmd/${id}/plan/1`,
    beatTopic: `/swarmd/${id}/presence/1`,
    noiseProtocol: `/swarmd/noise/1/${derived(key, 'swarmd/noise-name/1').toString('hex').slice(0, 8)}`,
    prologue: derived(key, 'swarmd/noise/1'),
    admits: (peer, proof) => derived(key, `swarmd/member/1 ${id} ${peer}`).equals(Buffer.from(proof))
  }
}
