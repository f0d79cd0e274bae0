// Watches a swarm with js-libp2p: says nothing, passes nothing on, prints what it knows as one line of JSON whenever that
// changes. Written by docs/wire.md and docs/protocol.md alone.
//
//   node observer.js SWARM-KEY-FILE MULTIADDRESS...

import './older-node.js'
import { gossipsub } from '@libp2p/gossipsub'
import { identify } from '@libp2p/identify'
import { noise } from '@libp2p/noise'
import { ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { Events } from './events.js'
import { readSwarm } from './names.js'
import { trees } from './tree.js'

const [file, ...addresses] = process.argv.slice(2)
const swarm = readSwarm(file)
const events = new Events(swarm)

function swarmNoise (components) {
  const handshake = noise({ prologueBytes: swarm.prologue })(components)
  handshake.protocol = swarm.noiseProtocol
  return handshake
}

function messageId ({ from, sequenceNumber }) {
  const id = Buffer.alloc(8)
  id.writeBigUInt64BE(sequenceNumber)
  return Buffer.concat([id, from.toMultihash().bytes])
}

const node = await createLibp2p({
  transports: [tcp()],
  connectionEncrypters: [swarmNoise],
  streamMuxers: [yamux()],
  services: {
    identify: identify(),
    ping: ping(),
    gossip: gossipsub({
      globalSignaturePolicy: 'StrictSign',
      msgIdFn: messageId,
      asyncValidation: true // what is never found valid is never passed on
    })
  }
})

const say = (known) => process.stdout.write(`${JSON.stringify(known)}\n`)
let turn = Promise.resolve() // one message after the other

node.services.gossip.addEventListener('gossipsub:message', ({ detail: { msgId, propagationSource, msg } }) => {
  node.services.gossip.reportMessageValidationResult(msgId, propagationSource, 'ignore')
  if (msg.topic !== swarm.planTopic) return
  turn = turn.then(() => events.hear(msg.data)).then(
    () => say({ events: events.opened.size, fingerprint: events.fingerprint(), goals: trees(events.admitted()) }),
    (fault) => { events.refused += 1; console.error(`refused: ${fault}`) }
  )
})
node.services.gossip.addEventListener('gossipsub:graft', ({ detail: { topic, peerId } }) => say({ joined: topic, by: peerId }))
for (const topic of [swarm.planTopic, swarm.beatTopic]) node.services.gossip.subscribe(topic)
for (const address of addresses) await node.dial(multiaddr(address))
